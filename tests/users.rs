//! Who may control a switch: whoever starts it, with or without sudo, and the members of its group.
#![allow(clippy::unwrap_used)]

use bofuss_tests::{as_user, have_users};

const TOOLS: &[&str] = &["ip", "unshare", "setpriv", "sudo"];
/// Starts a switch as README prints it, with further options, and waits until it runs.
const START: &str = r#"set -e
fail() { echo "failed: $*"; exit 1; }
as() { user=$1; shift; sudo -u "$user" env -u SUDO_UID "$@" 2>&1; }
sudo ip link add veth1 type veth peer name veth2
start() {
    sudo bofuss run --port veth1 --port veth2 "$@" 2>log &
    for _ in $(seq 200); do
        ! grep -q 'waiting for controllers' log || return 0
        sleep 0.05
    done
    cat log
    fail the switch does not start
}
"#;

/// Runs a script of a plain user after [`START`]; it ends with `done`.
fn script(text: &str) {
    let said = as_user(&format!("{START}{text}\necho done"));
    assert!(said.ends_with("done\n"), "{said}");
}

#[test]
fn who_called_sudo_controls_the_switch_and_other_users_do_not() {
    if !have_users(TOOLS) {
        return;
    }
    script(
        r#"start
dpctl dump-flows | grep -q actions=NORMAL
dpctl add-flow 'priority=10,in_port=1,ip,nw_dst=10.0.0.0/8,actions=output:2'
dpctl trace 1 ffffffffffff0200000000010806 | grep -q 'table 0'
dpctl s0 dump-flows | grep -q nw_dst=10.0.0.0/8
bofuss ctl s0 ports | grep -q veth2
bofuss trace --switch s0 in_port=1,arp | grep -q 'table 0'
sudo dpctl show | grep -q veth1
sudo bofuss ctl s0 ports | grep -q veth1
socket=$(dpctl switches | sed -n 's/^s0\tunix://p')
folder=$(dirname "$socket")
[ "$(stat -c '%a %U' "$folder")" = '770 student' ] || fail "$(stat "$folder")"
[ "$(stat -c '%G' "$folder")" = root ] || fail "$(stat "$folder")"
[ "$(stat -c '%a %U' "$socket")" = '600 student' ] || fail "$(stat "$socket")"
[ "$(stat -c '%a %U' "${socket%.sock}.ctl")" = '600 student' ]
before=$(dpctl dump-flows | grep -c cookie)
for user in nobody other assistant; do
    for words in 'show' 's0 del-flows' 'del-flows s0' "unix:$socket del-flows"; do
        said=$(as $user dpctl $words) && fail "$user: $words: $said"
        for word in sudo --socket-group; do
            case $said in *$word*) ;; *) fail "$user: $words: $said" ;; esac
        done
    done
    said=$(as $user bofuss ctl s0 shutdown) && fail "$user shuts it down"
    case $said in *sudo*) ;; *) fail "$user: $said" ;; esac
    as $user ls "$folder" && fail "$user lists $folder"
done
[ "$(dpctl dump-flows | grep -c cookie)" = "$before" ]
bofuss ctl s0 shutdown
wait
[ -z "$(sudo ls "$folder")" ] || fail "it leaves $(sudo ls "$folder")""#,
    );
}

#[test]
fn only_root_controls_the_switch_that_root_started() {
    if !have_users(TOOLS) {
        return;
    }
    script(
        r#"sudo env -u SUDO_UID bofuss run --port veth1 2>log &
until grep -q 'waiting for controllers' log; do sleep 0.05; done
[ "$(stat -c '%a %U' /run/bofuss)" = '700 root' ] || fail "$(stat /run/bofuss)"
[ "$(sudo stat -c '%a %U' /run/bofuss/s0.sock)" = '600 root' ]
[ "$(sudo stat -c '%a %U' /run/bofuss/s0.ctl)" = '600 root' ]
said=$(dpctl s0 show 2>&1) && fail "$said"
case $said in *sudo*--socket-group*) ;; *) fail "$said" ;; esac
sudo dpctl s0 show | grep -q veth1
sudo dpctl show | grep -q veth1
sudo bofuss ctl s0 shutdown
wait"#,
    );
}

#[test]
fn members_of_the_sockets_group_control_the_switch() {
    if !have_users(TOOLS) {
        return;
    }
    script(
        r#"said=$(sudo bofuss run --socket-group nosuch 2>&1) && fail "$said"
case $said in *'--socket-group nosuch: '*) ;; *) fail "$said" ;; esac
start --socket-group lab
dpctl dump-flows | grep -q actions=NORMAL
for words in 'show' 's0 show' 'show s0'; do
    said=$(as assistant dpctl $words) || fail "$words: $said"
    said=$(as other dpctl $words) && fail "other: $said"
done
sudo unshare -n setpriv --reuid assistant --regid assistant --init-groups dpctl s0 show >show
grep -q veth1 show || fail another namespace
as assistant bofuss ctl s0 shutdown && fail the control socket is the owner\'s
bofuss ctl s0 shutdown
wait"#,
    );
}

#[test]
fn captures_go_where_their_caller_may_write_and_belong_to_the_caller() {
    if !have_users(TOOLS) {
        return;
    }
    script(
        r#"start --lock-down
until grep -q 'locked down: no capabilities' log; do sleep 0.05; done
chmod 700 .
umask 077
bofuss ctl s0 capture 1 home.pcapng
bofuss ctl s0 capture openflow home.pcapng
bofuss ctl s0 captures | grep -q "^1 $PWD/home.pcapng packets="
[ "$(stat -c '%a %U' home.pcapng)" = '600 student' ] || fail "$(stat home.pcapng)"
sudo chmod 700 /run/etc
for name in /run/etc/x.pcap /run/home.pcap; do
    said=$(bofuss ctl s0 capture 1 $name 2>&1) && fail "$said"
    case $said in *"$name: Permission denied"*) ;; *) fail "$said" ;; esac
done
ln -s home.pcapng link
said=$(bofuss ctl s0 capture 1 link 2>&1) && fail "$said"
said=$(bofuss ctl s0 capture 9 made.pcap 2>&1) && fail "$said"
[ ! -e made.pcap ] || fail a refused capture leaves a file
bofuss ctl s0 shutdown
wait"#,
    );
}
