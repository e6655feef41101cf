#!/usr/bin/env bash
# The tarball of the static program.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "the static program in a root that holds nothing else"
empty=$folder/empty
mkdir -p "$empty/tmp"
tar -xzf "$packages"/gh-advise-*-linux-"$machine".tar.gz -C "$empty" --strip-components=1
cp "$report" "$empty/"
chroot "$empty" /bin/gh-advise --version | tee "$folder/version"
grep -q "for $machine .* linked statically" "$folder/version"
unshare --net chroot "$empty" /bin/gh-advise demo | grep '^1\. '
chroot "$empty" /bin/gh-advise starved.sqlite --format json | cmp - "$expected"

say "the same, every system call failing that Linux 4.17 of June 2018 did not have"
newer=io_pgetevents,rseq,pidfd_send_signal,io_uring_setup,io_uring_enter,io_uring_register,open_tree,move_mount,fsopen,fsconfig,fsmount,fspick,pidfd_open,clone3,close_range,openat2,pidfd_getfd,faccessat2,process_madvise,epoll_pwait2,mount_setattr,quotactl_fd,landlock_create_ruleset,landlock_add_rule,landlock_restrict_self,memfd_secret,process_mrelease,futex_waitv,set_mempolicy_home_node
(cd "$empty" && strace -f -qq -o "$folder/calls" -e "trace=$newer" -e "inject=$newer:error=ENOSYS" bin/gh-advise starved.sqlite --format json) | cmp - "$expected"
echo "it had to do without: $(sed 's/^[0-9]* *//; s/(.*//' "$folder/calls" | sort | uniq -c | tr -s ' \n' ' ')"

say "every report, static and shared"
"$tests/bench/same_output.sh" "$empty/bin/gh-advise" "$build/gh-advise" "$build/fixtures"
