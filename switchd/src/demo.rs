//! `bofuss demo`: three hosts on a switch that learns, in network namespaces of its own.
//!
//! Everything it makes hangs on this process: namespaces, interfaces and sockets vanish with it.

use std::fmt::Display;
use std::io::{IsTerminal, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use bofuss_channel::{ActiveAddress, Client, Endpoint};
use bofuss_ext::trace::{self, Trace};
use bofuss_oflib::message::multipart::{FlowStatsRequest, PortRequest, ReplyBody, RequestBody};
use bofuss_oflib::wire::Wire;
use bofuss_oflib::{Mac, Message, PortNo, Version};
use bofuss_packet::craft;
use bofuss_ports::NetNs;

use crate::config::Options;
use crate::process::Process;

/// Hosts on the switch; host n has 10.0.0.n and is on port n.
const HOSTS: u8 = 3;
/// How long the TCP transfer runs.
const TRANSFER: Duration = Duration::from_secs(3);
/// How often its rate is shown.
const RATE_PERIOD: Duration = Duration::from_millis(500);
/// How long each host waits for an answer to a ping, in seconds.
const PING_WAIT: &str = "2";
/// How long a controller may take to connect and prepare the switch.
const CONTROLLER_WAIT: Duration = Duration::from_secs(10);
/// The longest wait for a reply of the switch.
const REPLY_WAIT: Duration = Duration::from_secs(5);
/// The longest wait for a link.
const LINK_WAIT: Duration = Duration::from_secs(5);
/// The TCP port of the transfer.
const TCP_PORT: u16 = 5001;

/// Options of `bofuss demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoOptions {
    /// Leave everything up at the end, and say what to try next.
    #[arg(long)]
    keep: bool,
    /// Have this controller decide, instead of the switch by itself: tcp:HOST[:PORT] as this shell
    /// sees it, or unix:FILE.
    #[arg(long, value_name = "ADDRESS")]
    controller: Option<String>,
}

/// The network: the switch's namespace and the hosts'.
struct Lab {
    switch: NetNs,
    hosts: Vec<NetNs>,
}

type Result<T> = std::result::Result<T, String>;

fn context<E: Display>(what: &str) -> impl Fn(E) -> String + '_ {
    move |error| format!("{what}: {error}")
}

/// Runs the demo; `stopped` ends it early. Errors: a sentence for the user.
pub async fn demo(options: DemoOptions, stopped: impl Future<Output = ()>) -> Result<()> {
    let program = std::env::args().next().unwrap_or_else(|| "bofuss".into());
    let lab = Lab::new().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("it may not make network namespaces; type: sudo {program} demo")
        }
        _ => format!("making network namespaces: {error}"),
    })?;
    lab.connect()?;
    let config = Options {
        name: Some(format!("demo-{}", std::process::id())),
        dpid: Some("0x1".into()),
        ports: (1..=HOSTS).map(port_name).collect(),
        controllers: options.controller.iter().cloned().collect(),
        ..Options::default()
    };
    let config = config.check()?;
    let into = lab.switch.try_clone().map_err(context("namespace"))?;
    let enter = move || {
        into.enter()
            .map_err(context("entering the switch's namespace"))
    };
    let process = Process::start(vec![config], None, Some(Box::new(enter))).await?;
    let socket = process.socket().to_path_buf();
    let (done, finished) = tokio::sync::oneshot::channel();
    let controlled = options.controller.clone();
    let lab = Arc::new(lab);
    let scene = Arc::clone(&lab);
    let play = move || drop(done.send(play(&scene, &socket, controlled.as_deref())));
    thread::Builder::new()
        .name("demo".into())
        .spawn(play)
        .map_err(context("thread"))?;
    let mut stopped = std::pin::pin!(stopped);
    tokio::select! {
        result = finished => result.unwrap_or_else(|_| Err("the demo's thread died".into()))?,
        () = &mut stopped => return Err("interrupted; everything is cleaned up".into()),
    }
    if options.keep {
        what_next(&process, &lab)?;
        process.until(stopped).await?;
    }
    println!("\nCleaned up: nothing is left.");
    Ok(())
}

fn port_name(host: u8) -> String {
    format!("s1-h{host}")
}

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

/// The Ethernet address of a host: easy to recognise in a flow table.
fn mac(host: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, host])
}

/// Runs a program to its end; gives its output. Errors: what it wrote, or that it is missing.
fn run(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "the program '{program}' is missing; type: apt install iproute2 iputils-ping"
                )
            }
            _ => format!("{program}: {error}"),
        })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            text(&output.stderr)
        )),
    }
}

impl Lab {
    fn new() -> io::Result<Self> {
        let hosts = (0..HOSTS)
            .map(|_| NetNs::new())
            .collect::<io::Result<_>>()?;
        Ok(Self {
            switch: NetNs::new()?,
            hosts,
        })
    }

    fn host(&self, number: u8) -> &NetNs {
        &self.hosts[usize::from(number) - 1]
    }

    /// Puts a cable between each host and the switch.
    fn connect(&self) -> Result<()> {
        for host in 1..=HOSTS {
            let (port, there) = (port_name(host), path(self.host(host)));
            let (mac, ip) = (mac(host).to_string(), format!("{}/24", address(host)));
            let cable = || {
                quieten();
                run(
                    "ip",
                    &[
                        "link", "add", &port, "type", "veth", "peer", "name", "eth0", "address",
                        &mac, "netns", &there,
                    ],
                )?;
                run("ip", &["link", "set", &port, "up"])
            };
            self.switch.run(cable).map_err(context("switch"))??;
            let settle = || {
                quieten();
                run("ip", &["address", "add", &ip, "dev", "eth0"])?;
                run("ip", &["link", "set", "lo", "up"])?;
                run("ip", &["link", "set", "eth0", "up"])
            };
            self.host(host).run(settle).map_err(context("host"))??;
        }
        for host in 1..=HOSTS {
            let port = port_name(host);
            self.switch
                .run(|| wait_for_link(&port))
                .map_err(context("switch"))??;
            self.host(host)
                .run(|| wait_for_link("eth0"))
                .map_err(context("host"))??;
        }
        Ok(())
    }
}

/// Waits until an interface sends: the kernel takes up to a second to notice the cable.
fn wait_for_link(name: &str) -> Result<()> {
    let until = Instant::now() + LINK_WAIT;
    while !run("ip", &["link", "show", name])?.contains("state UP") {
        if Instant::now() > until {
            return Err(format!("the link of {name} does not come up"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A path by which any program names the namespace while this process lives.
fn path(namespace: &NetNs) -> String {
    use std::os::fd::{AsFd, AsRawFd};
    format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        namespace.as_fd().as_raw_fd()
    )
}

/// Has the namespace of this thread send nothing by itself.
fn quieten() {
    // A kernel without IPv6 has no such file, and nothing to quieten.
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
}

/// The demo itself, in a thread of its own.
fn play(lab: &Lab, socket: &Path, controller: Option<&str>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(context("runtime"))?;
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let to = ActiveAddress(Endpoint::Unix(socket.into()));
    let client = Client::connect(&to, &[Version::V1_3], &catalogue, None, REPLY_WAIT);
    let mut client = runtime
        .block_on(client)
        .map_err(context("connecting to the switch"))?;
    let mut ask = |message: Message| {
        runtime
            .block_on(client.request(&message))
            .map_err(context("asking the switch"))
    };
    println!("Three hosts on one switch: h1 10.0.0.1, h2 10.0.0.2, h3 10.0.0.3 on ports 1, 2, 3.");
    match controller {
        Some(address) => println!("The controller at {address} decides what the switch does."),
        None => println!("No controller: the switch learns by itself where each address is."),
    }
    title("Every host pings every other");
    ping_all(lab, controller.is_some())?;
    title("A TCP transfer from h1 to h2");
    transfer(lab)?;
    title("The flow table");
    let all = RequestBody::Flow(FlowStatsRequest::all());
    if let ReplyBody::Flow(entries) = multipart(ask(Message::MultipartRequest(all.into()))?)? {
        entries
            .iter()
            .for_each(|entry| println!("  {}", Text(entry)));
    }
    title("The port counters");
    let all = RequestBody::PortStats(PortRequest {
        port_no: PortNo::ANY,
    });
    if let ReplyBody::PortStats(ports) = multipart(ask(Message::MultipartRequest(all.into()))?)? {
        println!(
            "  {:>4} {:>12} {:>15} {:>12} {:>15}",
            "port", "rx packets", "rx bytes", "tx packets", "tx bytes"
        );
        for port in ports {
            println!(
                "  {:>4} {:>12} {:>15} {:>12} {:>15}",
                port.port_no, port.rx_packets, port.rx_bytes, port.tx_packets, port.tx_bytes
            );
        }
    }
    title("One packet explained: h1 sends TCP to port 80 of h2");
    let segment = craft::ipv4(address(1), address(2), 64, craft::tcp(40000, 80, 2, b""));
    let frame = craft::ethernet(mac(2), mac(1), segment);
    let told = ask(Message::Experimenter(trace::request(PortNo(1), &frame)))?;
    if let Message::Experimenter(told) = told {
        let story = Trace::read(&String::from_utf8_lossy(&told.data.0))?.to_string();
        story.lines().for_each(|line| println!("  {line}"));
    }
    Ok(())
}

/// A value's text form.
struct Text<'a, T>(&'a T);

impl<T: Wire> Display for Text<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.text(f)
    }
}

fn multipart(message: Message) -> Result<ReplyBody> {
    match message {
        Message::MultipartReply(reply) => Ok(reply.body),
        other => Err(format!("the switch answered {}", other.name())),
    }
}

fn title(text: &str) {
    let (on, off) = match io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => ("\x1b[1m", "\x1b[0m"),
        false => ("", ""),
    };
    println!("\n{on}{text}{off}");
}

fn ping(lab: &Lab, from: u8, to: u8, wait: &str) -> Result<String> {
    let target = address(to).to_string();
    let ping = || run("ping", &["-n", "-c", "1", "-W", wait, &target]);
    let output = lab.host(from).run(ping).map_err(context("host"))??;
    let time = output
        .split("time=")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    time.map(str::to_string)
        .ok_or_else(|| format!("ping says {output}"))
}

fn ping_all(lab: &Lab, patient: bool) -> Result<()> {
    if patient {
        let until = Instant::now() + CONTROLLER_WAIT;
        while ping(lab, 1, 2, "1").is_err() && Instant::now() < until {
            thread::sleep(Duration::from_millis(100));
        }
    }
    for from in 1..=HOSTS {
        for to in (1..=HOSTS).filter(|to| *to != from) {
            let time = ping(lab, from, to, PING_WAIT)
                .map_err(|error| format!("h{from} does not reach h{to}: {error}"))?;
            println!("  h{from} -> h{to}   {time}");
        }
    }
    Ok(())
}

fn transfer(lab: &Lab) -> Result<()> {
    let failed = context::<io::Error>("TCP transfer");
    let listener = lab
        .host(2)
        .run(|| TcpListener::bind((address(2), TCP_PORT)));
    let listener = listener.map_err(&failed)?.map_err(&failed)?;
    let send = || -> io::Result<()> {
        let to = SocketAddr::from((address(2), TCP_PORT));
        let mut stream = TcpStream::connect_timeout(&to, REPLY_WAIT)?;
        let (data, until) = (vec![0u8; 1 << 18], Instant::now() + TRANSFER);
        while Instant::now() < until {
            stream.write_all(&data)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let sender = scope.spawn(|| lab.host(1).run(send));
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(REPLY_WAIT))?;
        show_rate(&mut stream)?;
        sender
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?
    })
    .map_err(failed)
}

/// Reads a stream to its end; shows its rate as it goes on a terminal, and once at the end.
fn show_rate(stream: &mut TcpStream) -> io::Result<()> {
    let (live, start) = (io::stdout().is_terminal(), Instant::now());
    let (mut total, mut shown, mut shown_bytes) = (0u64, start, 0u64);
    let mut buffer = vec![0; 1 << 18];
    let gigabits = |bytes: u64, time: Duration| bytes as f64 * 8e-9 / time.as_secs_f64();
    loop {
        let count = stream.read(&mut buffer)?;
        total += count as u64;
        let since = shown.elapsed();
        if live && since >= RATE_PERIOD {
            print!("\r  {:6.2} Gbit/s ", gigabits(total - shown_bytes, since));
            io::stdout().flush()?;
            (shown, shown_bytes) = (Instant::now(), total);
        }
        if count == 0 {
            break;
        }
    }
    let time = start.elapsed();
    let clear = if live { "\r" } else { "" };
    println!(
        "{clear}  {} MB in {:.1} s: {:.2} Gbit/s",
        total / 1_000_000,
        time.as_secs_f64(),
        gigabits(total, time)
    );
    Ok(())
}

/// Says what to try while everything is up; each line works when pasted into another shell.
fn what_next(process: &Process, lab: &Lab) -> Result<()> {
    let (socket, pid) = (process.socket().display(), std::process::id());
    let program = std::env::current_exe().map_err(context("own path"))?;
    let dpctl: PathBuf = program.with_file_name("dpctl");
    let dpctl = dpctl.display();
    let enter = enter_command(pid, &path(lab.host(1)));
    title("Up until Ctrl-C. In another shell, try");
    println!("  a shell in host h1       {enter} sh");
    println!("  h1 pings h3              {enter} ping -c 3 10.0.0.3");
    println!("  the flow table           {dpctl} unix:{socket} dump-flows");
    println!("  a flow of your own       {dpctl} unix:{socket} add-flow in_port=3,actions=drop");
    println!("  another tool             ovs-ofctl -O OpenFlow13 dump-ports unix:{socket}");
    println!(
        "  a controller decides     {} demo --keep --controller tcp:127.0.0.1:6653",
        program.display()
    );
    Ok(())
}

/// How another shell enters a namespace of this process: with its user namespace, if it has one.
fn enter_command(pid: u32, namespace: &str) -> String {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().nth(2) == Some("4294967295");
    match (whole, std::env::var_os("SUDO_USER")) {
        (false, _) => format!("nsenter -t {pid} -U --preserve-credentials --net={namespace}"),
        (true, Some(_)) => format!("sudo nsenter --net={namespace}"),
        (true, None) => format!("nsenter --net={namespace}"),
    }
}
