//! `bofuss web`: a running switch in a browser, by a process of its own that only asks.

mod asked;
mod form;
mod html;
mod ladder;
mod lists;
mod machines;
mod page;
mod pipeline;
mod story;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, StatusCode};

use crate::error::{Result, context};
use crate::http::{self, Answer, Refusal, Site};
use crate::runtime::{stopped, with_runtime};
use crate::{ctl, rights};

use asked::AskedSwitch;
use form::Form;
use page::{PAGES, PageRow};

/// Bytes of the token in the address.
const TOKEN_BYTES: usize = 16;
/// The names by which a browser of this machine reaches us. Another name may be one that a page
/// of others has made lead here (DNS rebinding).
const HOSTS: &[&str] = &["127.0.0.1", "localhost"];
const SCRIPT: &str = include_str!("web/live.js");
const STYLE: &str = include_str!("web/web.css");
/// What each answer says of itself: nothing from elsewhere, nothing kept, no address passed on.
const HEADERS: &[(HeaderName, &str)] = &[
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
         img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CACHE_CONTROL, "no-store"),
];

/// Options of `bofuss web`.
#[derive(clap::Args)]
pub struct WebOptions {
    /// The switch's name [default: the only one that runs].
    name: Option<String>,
}

impl WebOptions {
    /// Prints an address, and serves it until a signal. Errors: a sentence for the user.
    pub fn run(&self) -> Result<()> {
        let control = ctl::find(self.name.as_deref())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(context("web"))?;
        let address = listener.local_addr().map_err(context("web"))?;
        listener.set_nonblocking(true).map_err(context("web"))?;
        let token = token().map_err(context("a random token"))?;
        rights::only_ask(&control)?;
        let mut out = std::io::stdout();
        writeln!(out, "http://{address}/{token}/").and_then(|()| out.flush())?;
        let viewer = Viewer {
            switch: Arc::new(AskedSwitch { control }),
            token,
        };
        with_runtime(async {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(context("web"))?;
            tokio::select! {
                () = http::accept(listener, viewer) => {}
                () = stopped() => {}
            }
            Ok(())
        })
    }
}

/// Random hexadecimal digits.
fn token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a request asks for.
enum Question {
    Script,
    Style,
    Page(&'static PageRow, Form),
}

/// The pages of a switch, for whoever knows the token.
struct Viewer {
    switch: Arc<AskedSwitch>,
    token: String,
}

impl Viewer {
    /// Returns true if a text is the token, in a time that does not say how much of it is right.
    fn is_token(&self, text: &str) -> bool {
        let pairs = text.bytes().zip(self.token.bytes());
        let differs = pairs.fold(0, |differs, (a, b)| differs | (a ^ b));
        text.len() == self.token.len() && differs == 0
    }
}

impl Site for Viewer {
    type Question = Question;

    fn read<B>(&self, request: &Request<B>) -> Result<Self::Question, Refusal> {
        let forbidden = (
            StatusCode::FORBIDDEN,
            "the address is the one printed at the start\n",
        );
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let host = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
        let is_ours = host
            .is_some_and(|host| HOSTS.iter().any(|ours| host.eq_ignore_ascii_case(ours)))
            && hosts.next().is_none();
        if !is_ours || request.uri().authority().is_some() {
            return Err(forbidden);
        }
        let path = request.uri().path().strip_prefix('/');
        let path = path.unwrap_or_default();
        let (token, name) = match path.split_once('/') {
            Some((token, name)) => (token, Some(name)),
            None => (path, None),
        };
        if !self.is_token(token) {
            return Err(forbidden);
        }
        let Some(name) = name else {
            return Err((StatusCode::NOT_FOUND, "the address ends with a slash\n"));
        };
        if request.method() != Method::GET {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "this only looks: GET\n"));
        }
        let page = PAGES.iter().find(|page| page.path == name);
        match (name, page) {
            ("live.js", _) => Ok(Question::Script),
            ("web.css", _) => Ok(Question::Style),
            (_, Some(page)) => {
                let form = Form::of(request.uri().query().unwrap_or_default());
                Ok(Question::Page(page, form))
            }
            (_, None) => Err((StatusCode::NOT_FOUND, "there is no such page\n")),
        }
    }

    async fn answer(&self, question: Question) -> Answer {
        let mut answer = match question {
            Question::Script => {
                http::text(StatusCode::OK, "text/javascript; charset=utf-8", SCRIPT)
            }
            Question::Style => {
                let style = [bofuss_ext::trace::STYLE, STYLE].concat();
                http::text(StatusCode::OK, "text/css; charset=utf-8", style)
            }
            Question::Page(page, form) => {
                let switch = self.switch.clone();
                // The control socket is read by a thread, as in `bofuss ctl`.
                let page = tokio::task::spawn_blocking(move || page::page(&switch, page, &form));
                let (status, page) = page.await.unwrap_or_default();
                http::text(status, "text/html; charset=utf-8", page)
            }
        };
        for (name, value) in HEADERS {
            let value = HeaderValue::from_static(value);
            answer.headers_mut().insert(name.clone(), value);
        }
        answer
    }
}
