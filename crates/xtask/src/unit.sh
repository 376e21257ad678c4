#!/bin/sh
# Boots Debian's own systemd in the emulator, and does with the unit of `corewise keep unit --system` what an operator does: start, reload,
# daemon-reload, kill -9, restart, stop; then what Debian's package does when it is upgraded and removed. Prints a line for each thing that has to hold, "ok" or "NOT OK", and ends with 1 where one is not.
# Called by `cargo xtask unit` with the program, the kernel and the folder of the package's scripts.
set -eu
program=$1 kernel=$2 scripts=$3
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/bin "$root"/sbin "$root"/usr/bin "$root"/proc "$root"/sys "$root"/dev "$root"/run "$root"/tmp "$root"/var/log \
    "$root"/etc/systemd/system "$root"/etc/corewise/rules.d "$root"/root "$root"/lib64

copy() { # a program or a library with all that it needs
    mkdir -p "$root$(dirname "$1")"
    cp -L "$1" "$root$1"
    ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$root$library" ] || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
    done
}
for one in /lib/systemd/systemd /lib/systemd/systemd-journald /lib/systemd/systemd-shutdown /lib/systemd/systemd-cgroups-agent \
    /usr/bin/systemctl /usr/bin/journalctl /usr/bin/setpriv /usr/bin/getent /usr/bin/perl; do
    copy "$one"
done
cp -a /lib/systemd/system "$root/lib/systemd/system"
# The scripts call deb-systemd-invoke, which is in Perl.
cp /usr/bin/deb-systemd-invoke "$root/usr/bin/"
for folder in /usr/lib/*/perl-base; do mkdir -p "$root$folder"; cp -a "$folder/." "$root$folder"; done
mkdir "$root/scripts"; cp "$scripts"/* "$root/scripts/"
cp -L "$(command -v busybox)" "$root/bin/busybox"
for name in sh seq cat echo sleep kill sed grep ls rm mkdir test true tail ps poweroff mount head tr wc taskset; do ln -sf busybox "$root/bin/$name"; done
copy "$program"; mv "$root$program" "$root/usr/bin/corewise"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>"$root/etc/passwd"
printf 'root:x:0:\nsystemd-journal:x:100:\nadm:x:4:\nnogroup:x:65534:\n' >"$root/etc/group"
echo 'ID=corewise' >"$root/etc/os-release"; : >"$root/etc/machine-id"
ln -s lib/systemd/systemd "$root/init"
cat >"$root/etc/systemd/system/check.target" <<END
[Unit]
Requires=sysinit.target check.service
After=sysinit.target
END
cat >"$root/etc/systemd/system/check.service" <<END
[Unit]
DefaultDependencies=no
After=sysinit.target systemd-journald.socket
[Service]
Type=oneshot
ExecStart=/bin/sh /check
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
END
cat >"$root/etc/systemd/system/nap.service" <<END
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sleep 77777
User=nobody
END
cat >"$root/etc/corewise/rules.d/nap.toml" <<END
[[rule]]
name = "nap"
match = { argv = "77777", user = "nobody" }
on = "1"
END
cat >"$root/check" <<'END'
failed=0
hold() { what=$1; shift; for try in $(seq 100); do if "$@"; then echo "ok      $what"; return; fi; sleep 0.3; done; echo "NOT OK  $what"; failed=1; }
mask() { [ "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$nap/status)" = "$1" ]; }
is() { [ "$(systemctl show -P "$2" corewise-keep)" = "$1" ]; }
has() { journalctl -u corewise-keep "$@" -o cat 2>/dev/null | grep -q .; }
/usr/bin/corewise keep unit --system >/etc/systemd/system/corewise-keep.service
systemctl daemon-reload
systemctl start nap.service; nap=$(systemctl show -P MainPID nap.service)
all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$nap/status)
if systemctl start corewise-keep; then echo "ok      start returns when it is ready (sd_notify)"; else echo "NOT OK  start"; journalctl -u corewise-keep -n 20 --no-pager; poweroff -f; fi
hold "the process of another user is held" mask 1
keeper=$(systemctl show -P MainPID corewise-keep)
status() { grep -q "^$1:[[:space:]]*$2\$" /proc/$keeper/status; }
mounted() { grep -qE " / $1 $2(,| )" /proc/$keeper/mountinfo || grep -qE " [^ ]+ $1 $2(,| )" /proc/$keeper/mountinfo; }
hold "system calls are filtered" status Seccomp 2
hold "no right can be gained" status NoNewPrivs 1
hold "it may have no capability but CAP_SYS_NICE" status CapBnd 0000000000800000
hold "nor has it one" status CapEff 0000000000800000
hold "its view of the files is read-only" mounted / ro
hold "but for its own folder" mounted /run/corewise rw
hold "systemctl status has what it holds" sh -c 'systemctl show -P StatusText corewise-keep | grep -q "1 thread held by 1 rule"'
hold "the log is in the journal, with fields" has COREWISE_RULE=nap
hold "a user can read the map of worth" /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'corewise worth --json | grep -q "\"kind\": *\"map\""'
# A stranger's code in the keeper's place: the same unit, with a script that tries what it must not be able to do.
cat >/probe <<'PROBE'
deny() { what=$1; shift; if "$@" 2>/dev/null; then echo "$what is possible"; fi; }
deny "to write to /etc" touch /etc/probe
deny "to write to /root" touch /root/probe
deny "to write to /sys" sh -c 'echo 1 >/sys/fs/cgroup/cgroup.subtree_control'
deny "to mount" mount -t tmpfs none /tmp
deny "to make a namespace" busybox unshare -m true
deny "to send a packet" sh -c 'echo | busybox nc -u -w 1 127.0.0.1 9'
deny "to end a process of another user" kill -0 $(cat /run/nap.pid)
deny "to change an owner" busybox chown 65534 /run/corewise-probe/said
echo done
PROBE
echo $nap >/run/nap.pid
sed 's|^ExecStart=.*|ExecStart=/bin/sh -c "/bin/sh /probe >/run/corewise-probe/said"|; s/^Type=.*/Type=oneshot/; s/^Restart=.*//; s/^RuntimeDirectory=.*/RuntimeDirectory=corewise-probe/' \
    /etc/systemd/system/corewise-keep.service >/etc/systemd/system/probe.service
systemctl daemon-reload; systemctl start probe.service
hold "a stranger's code in its place can do nothing of that either" sh -c '[ "$(cat /run/corewise-probe/said)" = done ] || { cat /run/corewise-probe/said; false; }'
echo '[[rule]]' >/etc/corewise/rules.d/other.toml
hold "a broken file is refused, with its line" has PRIORITY=4
hold "and the old rules stay" mask 1
rm /etc/corewise/rules.d/other.toml
sed -i 's/on = "1"/on = "0"/' /etc/corewise/rules.d/nap.toml
hold "a file that was changed is read" mask 0
sed -i 's/on = "0"/on = "1"/' /etc/corewise/rules.d/nap.toml; systemctl reload corewise-keep
hold "reload reads the rules" mask 1
systemctl daemon-reload
hold "it stays through a daemon-reload" mask 1
hold "and is active" is active ActiveState
before=$(systemctl show -P MainPID corewise-keep)
systemctl kill -s KILL corewise-keep
hold "killed, it comes again" sh -c "[ \$(systemctl show -P MainPID corewise-keep) != $before ] && [ \$(systemctl show -P ActiveState corewise-keep) = active ]"
hold "and takes over what it had placed" sh -c 'journalctl -u corewise-keep -o cat | grep -q "taken over"'
hold "which stays" mask 1
systemctl restart corewise-keep
hold "restarted, it holds again" mask 1
systemctl stop corewise-keep
hold "stopped, everything is given back" mask "$all"
hold "nothing is left to undo" sh -c 'corewise undo | grep -q "Nothing to undo"'
hold "nor a map" test ! -e /run/corewise/worth
systemctl start corewise-keep
hold "started, it holds" mask 1
before=$(systemctl show -P MainPID corewise-keep)
sh /scripts/prerm upgrade 2 && sh /scripts/postinst configure 1
hold "the package upgraded, the unit runs the new program" sh -c "[ \$(systemctl show -P MainPID corewise-keep) != $before ] && [ \$(systemctl show -P ActiveState corewise-keep) = active ]"
hold "and holds" mask 1
sh /scripts/prerm remove
hold "the package removed, the unit is stopped" is inactive ActiveState
hold "and everything is given back" mask "$all"
[ $failed = 0 ] && echo "ALL OK" || { echo "FAILED"; journalctl -u corewise-keep --no-pager | tail -40; }
poweroff -f
END
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/files"
timeout 900 qemu-system-x86_64 </dev/null -nodefaults -no-reboot -display none -machine q35,usb=off -accel tcg -cpu max -smp 2 -m 768M -kernel "$kernel" \
    -initrd "$work/files" -serial "file:$work/console" \
    -append 'console=ttyS0 panic=-1 mitigations=off no_timer_check tsc=reliable nowatchdog norandmaps systemd.unit=check.target systemd.show_status=0 systemd.log_level=warning quiet'
grep -aE '^(ok|NOT OK|ALL OK|FAILED)|^[^[]*corewise' "$work/console" || tail -60 "$work/console"
grep -aq '^ALL OK' "$work/console"
