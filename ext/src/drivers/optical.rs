//! Optical ports in all versions: messages that say what the properties of 1.4 say.

use alloc::{format, vec::Vec};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::message::multipart::port::{OpticalStats, OpticalStatsFlags};
use bofuss_oflib::message::port::{OpticalPort, OpticalPortFeatures, OpticalPortMod};
use bofuss_oflib::text::items;
use bofuss_oflib::wire::{Reader, Text, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError, PortNo};

use super::wire::take;
use crate::common::list::Listed;

/// How a controller configures an optical port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortOpticalSet {
    /// The port.
    pub port: PortNo,
    /// The settings.
    pub change: OpticalPortMod,
}

impl Wire for PortOpticalSet {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            port: PortNo(r.at("port_no").get()?),
            change: OpticalPortMod {
                configure: OpticalPortFeatures(r.at("configure").get()?),
                freq_lmda: r.at("freq_lmda").get()?,
                fl_offset: r.at("fl_offset").get::<u32>()? as i32,
                grid_span: r.at("grid_span").get()?,
                tx_pwr: r.at("tx_pwr").get()?,
            },
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let change = &self.change;
        w.put(&self.port.0).put(&change.configure.0);
        w.put(&change.freq_lmda).put(&(change.fl_offset as u32));
        w.put(&change.grid_span).put(&change.tx_pwr);
    }
}

impl TextForm for PortOpticalSet {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let change = &self.change;
        write!(f, "port={},configure=", self.port)?;
        change.configure.text(f)?;
        write!(
            f,
            ",freq_lmda={},fl_offset={},grid_span={},tx_pwr={}",
            change.freq_lmda, change.fl_offset, change.grid_span, change.tx_pwr as i32
        )
    }
}

impl TypedBody for PortOpticalSet {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let mut parts: Vec<&str> = items(text).collect();
        let mut number = |name: &str| -> Result<u32, ParseError> {
            let text = take(&mut parts, name).unwrap_or("0");
            let number = text.parse::<i64>().ok();
            let number = number.filter(|n| (i32::MIN.into()..=u32::MAX.into()).contains(n));
            let number = number.ok_or_else(|| format!("{name}: '{text}' is no number of 32 bits"));
            Ok(number? as u32)
        };
        let port = PortNo(number("port")?);
        let mut change = OpticalPortMod {
            freq_lmda: number("freq_lmda")?,
            fl_offset: number("fl_offset")? as i32,
            grid_span: number("grid_span")?,
            tx_pwr: number("tx_pwr")?,
            ..OpticalPortMod::default()
        };
        for word in take(&mut parts, "configure").unwrap_or_default().split('|') {
            let flag = OpticalPortFeatures::named(word);
            let flag = flag.ok_or_else(|| format!("configure: there is no '{word}'"))?;
            change.configure = change.configure | flag;
        }
        match parts.first() {
            Some(part) => Err(format!("'{part}' does not belong here").into()),
            None => Ok(Self { port, change }),
        }
    }
}

/// What the driver of a port says of it as an optical port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortOptical {
    /// The port.
    pub port: PortNo,
    /// Its features; all 0 if they are not known.
    pub features: OpticalPort,
    /// Its state; all 0 if it is not known.
    pub stats: OpticalStats,
}

impl Wire for PortOptical {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port = PortNo(r.at("port_no").get()?);
        let features = OpticalPort {
            supported: OpticalPortFeatures(r.at("supported").get()?),
            tx_min_freq_lmda: r.at("tx_min_freq_lmda").get()?,
            tx_max_freq_lmda: r.at("tx_max_freq_lmda").get()?,
            tx_grid_freq_lmda: r.at("tx_grid_freq_lmda").get()?,
            rx_min_freq_lmda: r.at("rx_min_freq_lmda").get()?,
            rx_max_freq_lmda: r.at("rx_max_freq_lmda").get()?,
            rx_grid_freq_lmda: r.at("rx_grid_freq_lmda").get()?,
            tx_pwr_min: r.at("tx_pwr_min").get()?,
            tx_pwr_max: r.at("tx_pwr_max").get()?,
        };
        let stats = OpticalStats {
            flags: OpticalStatsFlags(r.at("flags").get()?),
            tx_freq_lmda: r.at("tx_freq_lmda").get()?,
            tx_offset: r.at("tx_offset").get()?,
            tx_grid_span: r.at("tx_grid_span").get()?,
            rx_freq_lmda: r.at("rx_freq_lmda").get()?,
            rx_offset: r.at("rx_offset").get()?,
            rx_grid_span: r.at("rx_grid_span").get()?,
            tx_pwr: r.at("tx_pwr").get()?,
            rx_pwr: r.at("rx_pwr").get()?,
            bias_current: r.at("bias_current").get()?,
            temperature: r.at("temperature").get()?,
        };
        Ok(Self {
            port,
            features,
            stats,
        })
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let one = &self.features;
        w.put(&self.port.0).put(&one.supported.0);
        w.put(&one.tx_min_freq_lmda).put(&one.tx_max_freq_lmda);
        w.put(&one.tx_grid_freq_lmda).put(&one.rx_min_freq_lmda);
        w.put(&one.rx_max_freq_lmda).put(&one.rx_grid_freq_lmda);
        w.put(&one.tx_pwr_min).put(&one.tx_pwr_max);
        let one = &self.stats;
        w.put(&one.flags.0).put(&one.tx_freq_lmda);
        w.put(&one.tx_offset).put(&one.tx_grid_span);
        w.put(&one.rx_freq_lmda).put(&one.rx_offset);
        w.put(&one.rx_grid_span).put(&one.tx_pwr).put(&one.rx_pwr);
        w.put(&one.bias_current).put(&one.temperature);
    }
}

impl TextForm for PortOptical {
    /// Powers, offsets and temperature have their sign.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            port,
            features: one,
            stats: now,
        } = self;
        write!(f, "port={port},supported={}", Text(&one.supported))?;
        let tx = (one.tx_min_freq_lmda, one.tx_max_freq_lmda);
        let rx = (one.rx_min_freq_lmda, one.rx_max_freq_lmda);
        let powers = (one.tx_pwr_min as i16, one.tx_pwr_max as i16);
        write!(f, ",tx_min_freq_lmda={},tx_max_freq_lmda={}", tx.0, tx.1)?;
        write!(f, ",tx_grid_freq_lmda={}", one.tx_grid_freq_lmda)?;
        write!(f, ",rx_min_freq_lmda={},rx_max_freq_lmda={}", rx.0, rx.1)?;
        write!(f, ",rx_grid_freq_lmda={}", one.rx_grid_freq_lmda)?;
        write!(f, ",tx_pwr_min={},tx_pwr_max={}", powers.0, powers.1)?;
        write!(f, ",flags={}", Text(&now.flags))?;
        for (side, freq, offset, span) in [
            ("tx", now.tx_freq_lmda, now.tx_offset, now.tx_grid_span),
            ("rx", now.rx_freq_lmda, now.rx_offset, now.rx_grid_span),
        ] {
            let offset = offset as i32;
            write!(f, ",{side}_freq_lmda={freq},{side}_offset={offset}")?;
            write!(f, ",{side}_grid_span={span}")?;
        }
        let (sent, received) = (now.tx_pwr as i16, now.rx_pwr as i16);
        write!(f, ",tx_pwr={sent},rx_pwr={received}")?;
        write!(f, ",bias_current={}", now.bias_current)?;
        write!(f, ",temperature={}", now.temperature as i16)
    }
}

impl Listed for PortOptical {}

impl TypedBody for PortOptical {
    fn parse(_: &str, _: &Catalogue) -> Result<Self, ParseError> {
        Err("only a switch sends it".into())
    }
}
