#!/bin/bash
# Installs corewise in every way in a fresh Debian, uses it, upgrades and removes it. Prints a line for each thing that has to hold: "ok" or
# "NOT OK". Runs without a network, as root of a chroot in namespaces of its own; /packages has the files.
set -u
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 MANPAGER=cat DEBIAN_FRONTEND=noninteractive
cd /root
check() { # what has to hold, and the command that succeeds if it does
    local what=$1
    shift
    if "$@" >/log 2>&1 </dev/null; then echo "ok      $what"; else echo "NOT OK  $what"; tail -n 20 /log | sed 's/^/        /'; fi
}
wait_for() { for _ in $(seq 200); do "$@" && return; sleep 0.1; done; return 1; }
use_program() { # how it was installed, and the program
    check "$1: says its version" sh -c "$2 --version | grep -q '^corewise [0-9]'"
    check "$1: surveys the machine" timeout 60 "$2" --quick
    # Long enough for a busy machine.
    check "$1: tries a command" sh -c "timeout 60 $2 try --budget 15s -- sleep 0.1 | grep -q '^OS default'"
}
complete_word() { # a completed word of `corewise try`, by what bash-completion loads for it
    . /usr/share/bash-completion/bash_completion
    "$(complete -p -D | sed 's/.*-F \([^ ]*\).*/\1/')" corewise
    COMP_WORDS=(corewise try "$1") COMP_CWORD=2 COMP_LINE="corewise try $1" COMP_POINT=$((14 + ${#1}))
    "$(complete -p corewise | sed 's/.*-F \([^ ]*\).*/\1/')" corewise "$1" try
    [[ " ${COMPREPLY[*]} " == *" $2 "* ]]
}
mask_of() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
has_mask() { [ "$(mask_of "$1")" = "$2" ]; }
as_user=(setpriv --reuid someone --regid someone --init-groups --reset-env)
package=$(ls /packages/*_amd64.deb)

# The bare file, and Python's way.
mkdir bare && tar -xzf /packages/*-x86_64-unknown-linux-musl.tar.gz -C bare --strip-components=1
use_program "bare file" ./bare/corewise
check "bare file: has its pages, completions and licences" ls bare/corewise-try.1 bare/zsh/_corewise bare/LICENSE-MIT bare/THIRD-PARTY.txt
check "wheel: pip installs it" sh -c 'python3 -m venv /venv && /venv/bin/pip install --no-index --find-links /packages corewise'
use_program wheel /venv/bin/corewise
check "wheel: Python places its threads" /venv/bin/python -c 'import corewise; assert corewise.place("all").pin_threads() == 1'
check "wheel: pip removes it" sh -c '/venv/bin/pip uninstall --yes corewise && ! [ -e /venv/bin/corewise ]'

# Debian's way.
check "deb: lintian finds no error" lintian --allow-root --fail-on error "$package"
check "deb: installs" dpkg -i "$package"
use_program deb /usr/bin/corewise
check "deb: man shows the page of a command" sh -c 'man corewise-try | grep -q -- --margin'
check "deb: bash completes an option" complete_word --marg --margin
for manager in system user; do
    check "deb: the unit of $manager starts the installed program" \
        grep "^ExecStart=/usr/bin/corewise keep run --$manager" /usr/lib/systemd/$manager/corewise-keep.service
done

# A rule holds a process, and a user has placed one by hand, while the package is upgraded and removed.
useradd --create-home someone
cpu=$(mask_of self | grep -o '[0-9]*$')
"${as_user[@]}" sleep 77777 & held=$!
"${as_user[@]}" sleep 88888 & placed=$!
wait_for grep -q 88888 "/proc/$placed/cmdline"
all=$(mask_of $held)
mkdir -p /etc/corewise/rules.d
printf '[[rule]]\nname = "nap"\nmatch = { argv = "77777", user = "someone" }\non = "%s"\n' "$cpu" >/etc/corewise/rules.d/nap.toml
corewise keep run --system >/keep.log 2>&1 & keeper=$!
check "keep: the rule holds its process" wait_for has_mask $held "$cpu"
check "run --pid: a user places a process" "${as_user[@]}" corewise run --pid $placed --on "$cpu"
dpkg-deb -R "$package" upgrade && sed -i 's/^Version: .*/Version: 99/' upgrade/DEBIAN/control && dpkg-deb -b upgrade upgrade.deb >/dev/null
check "upgrade: installs" dpkg -i upgrade.deb
check "upgrade: the new version is installed" sh -c 'dpkg-query -W corewise | grep -q 99'
check "upgrade: the rule still holds its process" has_mask $held "$cpu"
check "upgrade: the user's process stays" has_mask $placed "$cpu"
kill -9 $keeper
check "a killed keeper leaves the mask" has_mask $held "$cpu"
data() { find /root/.local /home/someone/.local /etc/corewise -type f ! -name '*.corewise-journal' ! -name '*-wal' ! -name '*-shm' | sort; }
before=$(data)
check "removal: succeeds" dpkg -r corewise
check "removal: the held process has its cpus again" has_mask $held "$all"
check "removal: the user's process has its cpus again" has_mask $placed "$all"
check "removal: the program is gone" sh -c '! [ -e /usr/bin/corewise ] && ! [ -e /usr/lib/systemd/system/corewise-keep.service ]'
check "purge: succeeds" dpkg -P corewise
check "purge: results and rules stay" test "$before" = "$(data)"
check "purge: there were results and rules" sh -c 'ls /root/.local/share/corewise/history.db /etc/corewise/rules.d/nap.toml'
kill $held $placed
echo "END"
