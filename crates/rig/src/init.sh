#!/bin/busybox sh
# The first process of a rig machine: mounts what every Linux has, then runs the steps that come over the second serial port.
# A step is a line "STEP SCRIPT": a word that no other step has, and hexadecimal digits, a shell script when decoded. The answer is a line
# "rig STEP CODE OUT ERR", where OUT and ERR are the sizes of what it wrote, then what it wrote, and a line "end STEP"; each line begins anew.
export PATH=/usr/bin:/bin:/sbin HOME=/root LC_ALL=C.UTF-8
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
chmod 1777 /tmp
mkdir -p /home/user
chown user:user /home/user
ln -s /proc/self/fd /dev/fd
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+cpuset" >/sys/fs/cgroup/cgroup.subtree_control
mount -t tracefs tracefs /sys/kernel/tracing
cd /root

if [ -n "$RIG_SHELL" ]; then
    echo "corewise is in /usr/bin; leave with \"exit\" or Ctrl-D."
    setsid cttyhack sh
    poweroff -f
fi

exec 3<>/dev/ttyS1
stty raw -echo <&3
echo "rig ready" >&3
# Whoever gave the steps may be gone; then the machine turns itself off. A shell of its own reads: this one is the parent of all orphans, and
# busybox forgets the part of a line that it has read when a child ends meanwhile.
while step=$(IFS= read -r -t 900 step <&3 && echo "$step"); do
    number=${step%% *}
    echo "${step#* }" | xxd -r -p >/run/step
    setsid sh /run/step </dev/null >/run/step.out 2>/run/step.err 3>&-
    code=$?
    # What is left in the background may still write, so the answer is made from one look.
    head -c "$(stat -c %s /run/step.out)" /run/step.out >/run/answer.out
    head -c "$(stat -c %s /run/step.err)" /run/step.err >/run/answer.err
    {
        printf '\nrig %s %s %s %s\n' "$number" "$code" "$(stat -c %s /run/answer.out)" "$(stat -c %s /run/answer.err)"
        cat /run/answer.out /run/answer.err
        printf '\nend %s\n' "$number"
    } >&3
done
poweroff -f
