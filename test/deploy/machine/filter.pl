# Runs a program without the system calls that a unit denies: filter.pl UNIT COMMAND... Reads the lines `SystemCallFilter=`
# from the first with `~` on, and knows x86_64 alone; elsewhere, runs the program with all.

use strict;
my ($unit, @command) = @ARGV;
# As `systemd-analyze syscall-filter` lists them, with their numbers.
my %groups = (
  '@resources' => { ioprio_set => 251, mbind => 237, migrate_pages => 256, move_pages => 279,
    sched_setaffinity => 203, sched_setattr => 314, sched_setparam => 142, sched_setscheduler => 144,
    set_mempolicy => 238, set_mempolicy_home_node => 450, setpriority => 141, setrlimit => 160 },
  '@privileged' => { chown => 92, fchown => 93, lchown => 94, fchownat => 260, adjtimex => 159,
    clock_adjtime => 305, clock_settime => 227, settimeofday => 164, delete_module => 176,
    finit_module => 313, init_module => 175, ioperm => 173, iopl => 172, kexec_load => 246,
    kexec_file_load => 320, reboot => 169, swapoff => 168, swapon => 167, _sysctl => 156, acct => 163,
    bpf => 321, capset => 126, chroot => 161, fanotify_init => 300, fanotify_mark => 301,
    open_by_handle_at => 304, pivot_root => 155, quotactl => 179, quotactl_fd => 443,
    setdomainname => 171, setfsuid => 122, setgroups => 116, sethostname => 170, setresuid => 117,
    setreuid => 113, setuid => 105, vhangup => 153 },
);
my %all = map { %$_ } values %groups;
my %denied;
open my $file, '<', $unit or die "$unit: $!";
while (<$file>) {
  my ($not, $names) = /^SystemCallFilter=(~?)(.*)/ or next;
  for my $name (split ' ', $names) {
    if ($not) { %denied = (%denied, $groups{$name} ? %{$groups{$name}} : ($name => $all{$name})) }
    else { delete $denied{$name} }
  }
}
if (`uname -m` eq "x86_64\n") {
  # The filter is a program for each call (seccomp(2)): load its number; is it one of the denied? EPERM; else allow.
  my @numbers = sort values %denied;
  my $left = @numbers;
  my @steps = (pack('SCCL', 0x20, 0, 0, 0), map { pack('SCCL', 0x15, $left--, 0, $_) } @numbers);
  my $program = join '', @steps, pack('SCCL', 0x06, 0, 0, 0x7fff0000), pack('SCCL', 0x06, 0, 0, 0x00050001);
  my $head = pack('Sx6P', length($program) / 8, $program);
  syscall(157, 22, 2, $head, 0, 0) == 0 or die "prctl: $!";
}
exec @command or die "$command[0]: $!";
