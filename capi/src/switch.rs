//! Switches for C: makes, frees and ticks them, and passes what they cause to callbacks.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void, CString};

use bofuss_datapath::{Algorithm, Config as Tables, DropReason, Engine};
use bofuss_embed::{Effect, EmbedError, EmbeddedConfig, EmbeddedSwitch, FailMode, Time};
use bofuss_frame::{Pool, HEADROOM_BYTES, MAX_FRAME_BYTES};
use bofuss_oflib::types::TableId;

use crate::frame::FrameBytes;
use crate::{c_text, free, give, guarded, store, Status, CATALOGUE};

/// The configuration of a switch. Fill it with bofuss_config_default, then change some values.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The datapath id.
    pub datapath_id: u64,
    /// The seed of every random choice.
    pub seed: u64,
    /// The secret of the hash tables, against packets that are chosen to collide: a random number.
    pub secret: u64,
    /// Nanoseconds from 1970 to time 0 of the times that the switch is given.
    pub epoch_ns: u64,
    /// The number of bytes of frames that the switch may hold.
    pub pool_bytes: u64,
    /// The most entries of one table.
    pub max_entries: u32,
    /// The most entries of all tables together.
    pub max_total_entries: u32,
    /// The most groups.
    pub max_groups: u32,
    /// The most buckets of all groups together.
    pub max_buckets: u32,
    /// The most meters.
    pub max_meters: u32,
    /// The most flows in the flow cache.
    pub cache_flows: u32,
    /// The most bands of a meter.
    pub max_bands: u8,
    /// The algorithm by which select groups choose a bucket: 0 hash, 1 round-robin, 2 random.
    pub select: u8,
    /// The number of tables, 1 to 254.
    pub n_tables: u8,
    /// The engine by which packets find their entries: 0 reference (a scan of all), 1 tables (hash
    /// tables), 2 cache (hash tables and the flow cache).
    pub engine: u8,
    /// The behaviour without a controller: 0 go on with its entries (secure), 1 forward as an
    /// Ethernet switch (standalone), 2 forward along paths that the network explores (ARP-Path).
    pub fail_mode: u8,
    /// 1 if controllers may not set links up and down, otherwise 0.
    pub links_fixed: u8,
}

/// The callbacks for what a switch causes. What has no callback (NULL) is discarded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Callbacks {
    /// Is passed to each callback.
    pub user: *mut c_void,
    /// A frame leaves by a port. `queue` is the one that it waited in, or that an action has set,
    /// or 0.
    pub transmit:
        Option<extern "C" fn(user: *mut c_void, port: u32, queue: u32, frame: *const FrameBytes)>,
    /// The switch sends whole messages on a connection.
    pub send:
        Option<extern "C" fn(user: *mut c_void, connection: u64, bytes: *const u8, length: usize)>,
    /// The switch closed a connection; `why` is a sentence.
    pub close: Option<extern "C" fn(user: *mut c_void, connection: u64, why: *const c_char)>,
    /// A controller wants a port's link up (1) or down (0). Call bofuss_port_set_link when it is.
    pub set_link: Option<extern "C" fn(user: *mut c_void, port: u32, up: u8)>,
}

/// The fill of a switch, and what it has dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SwitchUsage {
    /// The number of ports.
    pub ports: u32,
    /// The number of entries in all tables.
    pub flow_entries: u32,
    /// The number of groups.
    pub groups: u32,
    /// The number of meters.
    pub meters: u32,
    /// Packets that were dropped, for any reason.
    pub drops: u64,
    /// Of these, packets that exceeded the rate of a meter's drop band.
    pub meter_drops: u64,
    /// Of these, packets that no entry of a table matched.
    pub miss_drops: u64,
}

/// An OpenFlow switch.
pub struct SwitchHandle {
    embedded: RefCell<EmbeddedSwitch>,
    callbacks: Callbacks,
    /// True while effects are being delivered. Then a call from a callback leaves its effects to
    /// the loop that delivers.
    delivers: Cell<bool>,
    /// True if the library has panicked. Then all further calls are refused.
    broken: Cell<bool>,
    error: RefCell<CString>,
}

impl SwitchHandle {
    /// Runs a body on the switch, then delivers what it caused; Null without a switch.
    pub(crate) fn call(
        this: Option<&Self>,
        body: impl FnOnce(&mut EmbeddedSwitch) -> Result<(), CallError>,
    ) -> Status {
        let Some(this) = this else {
            return Status::Null;
        };
        if this.broken.get() {
            return Status::Internal;
        }
        let status = guarded(|| {
            let done = body(&mut this.embedded.borrow_mut());
            this.deliver();
            done.map_err(|error| this.note(error))
        });
        if status == Status::Internal {
            this.broken.set(true);
            this.delivers.set(false);
        }
        status
    }

    /// Passes the effects to the callbacks, one by one. The switch is not borrowed during a
    /// callback, which may therefore call it.
    fn deliver(&self) {
        if self.delivers.replace(true) {
            return;
        }
        loop {
            let next = self.embedded.borrow_mut().next_effect();
            let Some(effect) = next else {
                break;
            };
            self.call_back(effect);
        }
        self.delivers.set(false);
    }

    fn call_back(&self, effect: Effect) {
        let callbacks = &self.callbacks;
        let user = callbacks.user;
        match effect {
            Effect::Transmit { port, queue, frame } => {
                if let Some(transmit) = callbacks.transmit {
                    transmit(user, port.0, queue.0, &FrameBytes::of(&frame));
                }
            }
            Effect::Send { conn, bytes } => {
                if let Some(send) = callbacks.send {
                    send(user, conn.0, bytes.as_ptr(), bytes.len());
                }
            }
            Effect::Close { conn, why } => {
                if let Some(close) = callbacks.close {
                    close(user, conn.0, c_text(&why.to_string()).as_ptr());
                }
            }
            Effect::SetLink { port, up } => {
                if let Some(set_link) = callbacks.set_link {
                    set_link(user, port.0, up.into());
                }
            }
            // The sender of a refused message gets an ERROR by `send`. In C, connections carry
            // bytes and ports do not advertise.
            Effect::Message { .. }
            | Effect::Advertise { .. }
            | Effect::Unsent { .. }
            | Effect::Refused { .. }
            | _ => {}
        }
    }

    fn note(&self, error: CallError) -> Status {
        *self.error.borrow_mut() = c_text(&error.text);
        error.status
    }
}

/// The reason for which a call failed.
pub(crate) struct CallError {
    status: Status,
    text: String,
}

impl From<Status> for CallError {
    fn from(status: Status) -> Self {
        let text = status.words().into();
        Self { status, text }
    }
}

impl From<EmbedError> for CallError {
    fn from(error: EmbedError) -> Self {
        let status = match &error {
            EmbedError::NoPort(_) => Status::NoPort,
            EmbedError::NoConnection(_) => Status::NoConnection,
            EmbedError::Config(_)
            | EmbedError::WrongKind(_)
            | EmbedError::BadPortNumber(_)
            | EmbedError::Trace(_)
            | _ => Status::BadValue,
        };
        let text = error.to_string();
        Self { status, text }
    }
}

/// Fills a configuration with the defaults.
///
/// # Safety
///
/// `config` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_config_default(config: *mut Config) -> Status {
    guarded(|| {
        let tables = Tables::default();
        let made = Config {
            datapath_id: 1,
            seed: 0,
            secret: 0,
            epoch_ns: 0,
            pool_bytes: bofuss_embed::POOL_BYTES as u64,
            max_entries: tables.max_entries,
            max_total_entries: tables.max_total_entries,
            max_groups: tables.max_groups,
            max_buckets: tables.max_buckets,
            max_meters: tables.max_meters,
            cache_flows: 1 << 14,
            max_bands: tables.max_bands,
            select: 0,
            n_tables: tables.n_tables,
            engine: 2,
            fail_mode: 0,
            links_fixed: 0,
        };
        // SAFETY: the caller vouches for the place.
        unsafe { store(config, made) }
    })
}

/// Returns why no switch can be made with a configuration, as a sentence that is never freed. NULL
/// if a switch can be made, and for NULL.
///
/// # Safety
///
/// `config` is NULL, or may be read.
#[no_mangle]
pub unsafe extern "C" fn bofuss_config_error(config: *const Config) -> *const c_char {
    // SAFETY: the caller vouches for the pointer.
    let given = unsafe { config.as_ref() };
    let wrong = given.and_then(|config| configured(config).err());
    wrong.map_or(std::ptr::null(), |text| text.as_ptr().cast())
}

/// The configuration of an embedded switch. Errors: the value that is not allowed, as a sentence
/// with a zero byte at its end.
fn configured(config: &Config) -> Result<EmbeddedConfig, &'static str> {
    if !(1..=TableId::MAX.0).contains(&config.n_tables) {
        return Err("n_tables is 1 to 254\0");
    }
    let row = Engine::ALL.get(usize::from(config.engine));
    let (_, engine) = *row.ok_or("engine is 0 to 2\0")?;
    let fail_mode = match config.fail_mode {
        0 => FailMode::Secure,
        1 => FailMode::Standalone,
        2 => FailMode::ArpPath,
        _ => return Err("fail_mode is 0 to 2\0"),
    };
    let select = match config.select {
        0 => Algorithm::Hash,
        1 => Algorithm::RoundRobin,
        2 => Algorithm::Random,
        _ => return Err("select is 0 to 2\0"),
    };
    let base = EmbeddedConfig::with_catalogue(CATALOGUE.clone());
    let bytes = usize::try_from(config.pool_bytes);
    let pool_bytes = bytes.map_err(|_| "pool_bytes is more than there can be\0")?;
    if pool_bytes < HEADROOM_BYTES + MAX_FRAME_BYTES {
        return Err("pool_bytes is at least 65920, for one frame of the longest kind\0");
    }
    if config.links_fixed > 1 {
        return Err("links_fixed is 0 or 1\0");
    }
    Ok(EmbeddedConfig {
        datapath_id: config.datapath_id,
        tables: Tables {
            seed: config.seed,
            secret: config.secret,
            epoch_ns: config.epoch_ns,
            max_entries: config.max_entries,
            max_total_entries: config.max_total_entries,
            max_groups: config.max_groups,
            max_buckets: config.max_buckets,
            max_meters: config.max_meters,
            max_bands: config.max_bands,
            select,
            cache_flows: config.cache_flows,
            n_tables: config.n_tables,
            engine,
            ..base.tables
        },
        pool: Pool::new(pool_bytes),
        fail_mode,
        links_fixed: config.links_fixed != 0,
        ..base
    })
}

/// Makes a switch without ports. The caller owns it. BOFUSS_STATUS_BAD_VALUE for a value of the
/// configuration that is not allowed: bofuss_config_error says which.
///
/// # Safety
///
/// `config` and `callbacks` are NULL, or may be read; `out` is NULL, or may be written. What the
/// callbacks' `user` points to lives as long as the switch.
#[no_mangle]
pub unsafe extern "C" fn bofuss_switch_new(
    now: u64,
    config: *const Config,
    callbacks: *const Callbacks,
    out: *mut *mut SwitchHandle,
) -> Status {
    guarded(|| {
        // SAFETY: the caller vouches for the configuration.
        let config = unsafe { config.as_ref() }.ok_or(Status::Null)?;
        let embedded_config = configured(config).map_err(|_| Status::BadValue)?;
        // SAFETY: the caller vouches for the callbacks.
        let callbacks = unsafe { callbacks.as_ref() }.ok_or(Status::Null)?;
        let made = EmbeddedSwitch::new(Time(now), embedded_config);
        let switch = SwitchHandle {
            embedded: RefCell::new(made.map_err(|_| Status::BadValue)?),
            callbacks: *callbacks,
            delivers: Cell::new(false),
            broken: Cell::new(false),
            error: RefCell::default(),
        };
        // SAFETY: the caller vouches for the place.
        unsafe { give(out, switch) }
    })
}

/// Frees a switch and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
/// BOFUSS_STATUS_BUSY within a callback of the switch: then nothing is freed.
///
/// # Safety
///
/// `sw` is NULL, or points to NULL or a switch of bofuss_switch_new that was not freed and that
/// no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_switch_free(sw: *mut *mut SwitchHandle) -> Status {
    guarded(|| {
        let check = |this: &SwitchHandle| {
            if this.delivers.get() {
                return Err(Status::Busy);
            }
            Ok(())
        };
        // SAFETY: the caller vouches for both pointers.
        unsafe { free(sw, check) }
    })
}

/// Returns why the last call of the switch that failed did so: a sentence, or only the name of the
/// status. It is valid until the next call fails. NULL for NULL.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_switch_error(sw: *const SwitchHandle) -> *const c_char {
    // SAFETY: the caller vouches for the pointer.
    let this = unsafe { sw.as_ref() };
    this.map_or(std::ptr::null(), |this| this.error.borrow().as_ptr())
}

/// Returns when to call bofuss_tick next; at once if that is in the past. BOFUSS_STATUS_NONE if
/// nothing waits for a time.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `at` is NULL, or
/// may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_next_tick(sw: *const SwitchHandle, at: *mut u64) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        let next = embedded.next_tick().ok_or(Status::None)?;
        // SAFETY: the caller vouches for the place.
        Ok(unsafe { store(at, next.0) }?)
    })
}

/// Expires entries, and serves other timers that are due.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_tick(sw: *const SwitchHandle, now: u64) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        embedded.tick(Time(now));
        Ok(())
    })
}

/// Continues what waited until peers read, such as long replies. BOFUSS_STATUS_NONE if nothing
/// does.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_work(sw: *const SwitchHandle, now: u64) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        if !embedded.has_work() {
            return Err(Status::None.into());
        }
        embedded.work(Time(now));
        Ok(())
    })
}

/// Stores how full the switch is.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `usage` is NULL,
/// or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_get_usage(
    sw: *const SwitchHandle,
    usage: *mut SwitchUsage,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        let datapath = embedded.switch().datapath();
        let entries = datapath.tables().iter().map(|table| table.len() as u32);
        let mut made = SwitchUsage {
            ports: datapath.ports().len() as u32,
            flow_entries: entries.sum(),
            groups: datapath.groups().count() as u32,
            meters: datapath.meters().count() as u32,
            ..SwitchUsage::default()
        };
        for (reason, count) in datapath.lane().drops() {
            made.drops += count;
            if reason == DropReason::Meter {
                made.meter_drops = count;
            }
            if reason == DropReason::TableMiss {
                made.miss_drops = count;
            }
        }
        // SAFETY: the caller vouches for the place.
        Ok(unsafe { store(usage, made) }?)
    })
}

/// Stores how many entries a table has. BOFUSS_STATUS_NONE if there is no such table.
///
/// # Safety
///
/// `sw` is NULL, or a switch that was not freed and that no other thread uses; `entries` is NULL,
/// or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_get_table_entries(
    sw: *const SwitchHandle,
    table: u8,
    entries: *mut u32,
) -> Status {
    // SAFETY: the caller vouches for the switch.
    let switch = unsafe { sw.as_ref() };
    SwitchHandle::call(switch, |embedded| {
        let tables = embedded.switch().datapath().tables();
        let found = tables.get(usize::from(table)).ok_or(Status::None)?;
        // SAFETY: the caller vouches for the place.
        Ok(unsafe { store(entries, found.len() as u32) }?)
    })
}
