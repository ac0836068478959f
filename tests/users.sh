# Runs a script as a plain user who may call sudo, where everything vanishes with it: network, /run,
# /tmp, processes and users. As root: sh users.sh BOFUSS DPCTL REPOSITORY VENV SCRIPT.
# The users are student, who may call sudo; assistant, of the group lab; and other. The programs are
# in /run/bin, copied, for they may be where the users may not look; the student's folder is its own.
set -e
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/netns /run/openvswitch /run/bin /run/etc /run/venv /run/student
mount -t sysfs sysfs /sys 2>/dev/null || true
cp "$1" "$2" "$3"/contrib/*.py /run/bin
# The Python that has the module of the package mininet.
ln -s /usr/bin/python3 /run/bin/python3
ln -s bofuss /run/bin/ofdatapath
ln -s bofuss /run/bin/ofprotocol
mkdir /run/student/tests
cp -r "$3/tests/controllers" /run/student/tests
if [ -d "$4" ]; then
    mount --bind "$4" /run/venv
    ln -s /run/venv /run/student/venv
fi
cp /etc/passwd /etc/group /etc/shadow /etc/hosts /run/etc
cat >>/run/etc/passwd <<END
student:x:4242:4242::/run/student:/bin/sh
assistant:x:4243:4243::/:/bin/sh
other:x:4244:4244::/:/bin/sh
END
for user in student assistant other; do echo "$user:*:1:0:99999:7:::" >>/run/etc/shadow; done
printf 'student:x:4242:\nassistant:x:4243:\nother:x:4244:\nlab:x:4245:assistant\n' >>/run/etc/group
echo "127.0.0.1 $(hostname)" >>/run/etc/hosts
PATH=/run/bin:$PATH:/usr/sbin:/sbin
printf 'Defaults secure_path="%s"\nroot ALL=(ALL:ALL) ALL\nstudent ALL=(ALL:ALL) NOPASSWD: ALL\n' \
    "$PATH" >/run/etc/sudoers
chmod 440 /run/etc/sudoers
for file in passwd group shadow hosts sudoers; do mount --bind "/run/etc/$file" "/etc/$file"; done
chown -R student: /run/student
# The interpreter may be in a home directory that the users may not search.
python=$(/run/venv/bin/python -c 'import sys; print(sys.base_prefix)' 2>/dev/null || true)
case $python in "$HOME"/*)
    mkdir /run/python
    mount --bind "$python" /run/python
    mount -t tmpfs -o mode=755 home "$HOME"
    mkdir -p "$python"
    mount --bind /run/python "$python"
    ;;
esac
mount -t tmpfs -o mode=1777 tmp /tmp
ip link set lo up
cd /run/student
unset TMPDIR XDG_RUNTIME_DIR SUDO_UID SUDO_GID SUDO_USER
export PATH HOME=/run/student USER=student
exec timeout -k 5 120 setpriv --reuid student --regid student --init-groups sh -c "$5" 2>&1
