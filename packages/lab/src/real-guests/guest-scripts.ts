import { GUEST_IDS } from "./real-images.ts";

/*
 * What is done by a shell in the lab's namespaces. Everything is passed by the environment, and nothing that
 * a guest or a client of the API chooses is part of a script.
 */

/** A tmpfs that only the lab's processes see: it ends with the last of them. */
export const GUESTS_FOLDER = "/run/kule-lab";

/** The folder of one machine. */
export const machineFolder = (vmid: number): string => `${GUESTS_FOLDER}/vm${vmid}`;
/** The user namespace of a machine, which owns its network. */
export const userNamespaceFile = (vmid: number): string => `${GUESTS_FOLDER}/user-vm${vmid}`;
export const imageFolder = (template: string): string => `${GUESTS_FOLDER}/images/${template}`;

/**
 * A network namespace that belongs to a user namespace: its root configures this network, and nothing else of
 * the machine. Both stay without a process in them.
 */
export const makeNamespaces = (vmid: number, firstId: number): string => `
unshare --user --net sleep infinity &
keeper=$!
trap 'kill $keeper' EXIT
until [ "$(readlink /proc/$keeper/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.01; done
echo "0 ${firstId} ${GUEST_IDS}" > /proc/$keeper/uid_map
echo "0 ${firstId} ${GUEST_IDS}" > /proc/$keeper/gid_map
ip netns attach vm${vmid} $keeper
: > ${userNamespaceFile(vmid)}
mount --bind /proc/$keeper/ns/user ${userNamespaceFile(vmid)}
`;

/** Removes the names; a guest that still runs keeps what they named until it ends. */
export const dropNamespaces = (vmid: number): string =>
  `ip netns del vm${vmid}; umount ${userNamespaceFile(vmid)}; rm -f ${userNamespaceFile(vmid)}`;

/**
 * The machine's serial line: a terminal whose other end is this script's input and output. A shell keeps it
 * open while no guest has it, between two boots.
 */
export const SERIAL_LINE = `
mkdir -p "$FOLDER"
exec 3<&0
socat -b 65536 STDIO "PTY,link=$FOLDER/console,mode=600" <&3 &
relay=$!
until [ -e "$FOLDER/console" ]; do kill -0 $relay; sleep 0.01; done
exec 4<>"$FOLDER/console"
echo ready >&2
wait $relay
`;

/** The disk is a file of its size: the guest's file system cannot be larger, and shows it. */
export const MOUNT_DISK = `
mkdir -p "$FOLDER/disk" "$(dirname "$DISK")"
if mountpoint -q "$FOLDER/disk"; then umount "$FOLDER/disk"; fi
if [ ! -e "$DISK" ]; then
  truncate -s "$SIZE" "$DISK.new"
  mkfs.ext4 -q -m 0 -E lazy_itable_init=1,lazy_journal_init=1 "$DISK.new"
  mv "$DISK.new" "$DISK"
fi
if [ "$(stat -c %s "$DISK")" -lt "$SIZE" ]; then
  truncate -s "$SIZE" "$DISK"
  # Its journal is replayed first. 1: faults were repaired.
  e2fsck -f -p "$DISK" >/dev/null || [ $? -eq 1 ]
  resize2fs "$DISK" >/dev/null 2>&1
fi
mount -o loop,noatime,nodev "$DISK" "$FOLDER/disk"
mkdir -p "$FOLDER/disk/upper" "$FOLDER/disk/work"
chown "$FIRST_ID:$FIRST_ID" "$FOLDER/disk/upper" "$FOLDER/disk/work"
`;

/** Unmounts a machine's disk when it is off. */
export const UNMOUNT_DISK = `if mountpoint -q "$FOLDER/disk"; then umount -l "$FOLDER/disk"; fi`;

/** What the guest's own root never gets, beyond what its user namespace withholds anyway. */
const DROPPED = [
  "sys_time",
  "sys_module",
  "sys_rawio",
  "mknod",
  "syslog",
  "wake_alarm",
  "mac_admin",
  "mac_override",
]
  .map((name) => `-${name}`)
  .join(",");

/** Units that have no purpose without a disk of its own, a kernel of its own, or a clock of its own. */
const MASKED = [
  "apt-daily.timer",
  "apt-daily-upgrade.timer",
  "dev-hugepages.mount",
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "e2scrub_reap.service",
  "fstrim.timer",
  "modprobe@.service",
  "proc-sys-fs-binfmt_misc.automount",
  "systemd-modules-load.service",
  "systemd-timesyncd.service",
].join(" ");

const REFUSED_RPCS = [
  "guest-fsfreeze-freeze",
  "guest-fsfreeze-freeze-list",
  "guest-fsfreeze-status",
  "guest-fsfreeze-thaw",
  "guest-fstrim",
  "guest-set-memory-blocks",
  "guest-set-time",
  "guest-set-vcpus",
  "guest-suspend-disk",
  "guest-suspend-hybrid",
  "guest-suspend-ram",
].join(",");

/** The agent's socket, as the guest sees it. */
const CHANNEL = "/run/guest-agent-channel";

/** Runs as root of the guest's user namespace, in the guest's namespaces, and becomes its init. */
export const BOOT = `
root=$FOLDER/root
mount -t overlay overlay -o "lowerdir=$IMAGE,upperdir=$FOLDER/disk/upper,workdir=$FOLDER/disk/work,userxattr" "$root"
# The names that it sees are paths of this machine otherwise.
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
for each in cpuinfo meminfo; do mount --bind "$FOLDER/$each" "$root/proc/$each"; done
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro,nosuid,nodev,noexec "$root/proc/sys"
# The kernel's is the same in all guests, and after each of their boots.
mount --bind "$FOLDER/boot-id" "$root/proc/sys/kernel/random/boot_id"
for each in kcore kmsg kallsyms sysrq-trigger keys timer_list; do
  if [ -e "$root/proc/$each" ]; then mount --bind /dev/null "$root/proc/$each"; fi
done
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755,size=1m,nosuid,noexec tmpfs "$root/dev"
for each in null zero full random urandom tty; do
  : > "$root/dev/$each"
  mount --bind "/dev/$each" "$root/dev/$each"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5,nosuid,noexec devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
mount -t mqueue -o nosuid,nodev,noexec mqueue "$root/dev/mqueue"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for each in 0/stdin 1/stdout 2/stderr; do ln -s "/proc/self/fd/\${each%/*}" "$root/dev/\${each#*/}"; done
: > "$root/dev/console"
mount --bind "$(readlink -f "$FOLDER/console")" "$root/dev/console"
mount -t tmpfs -o "mode=755,size=$RUN_SIZE,nosuid,nodev" tmpfs "$root/run"
mkdir -p "$root${CHANNEL}" "$root/var/lib/cloud/seed/nocloud" "$root/run/systemd/system/multi-user.target.wants"
mount --bind "$FOLDER/agent" "$root${CHANNEL}"
mount --bind "$FOLDER/seed" "$root/var/lib/cloud/seed/nocloud"
mount -o remount,bind,ro "$root/var/lib/cloud/seed/nocloud"
for each in ${MASKED}; do ln -s /dev/null "$root/run/systemd/system/$each"; done
cat > "$root/run/systemd/system/qemu-guest-agent.service" <<'UNIT'
[Unit]
Description=QEMU Guest Agent
[Service]
ExecStart=/usr/sbin/qemu-ga -m unix-listen -p ${CHANNEL}/socket -b ${REFUSED_RPCS}
Restart=always
RestartSec=1
UNIT
ln -s ../qemu-guest-agent.service "$root/run/systemd/system/multi-user.target.wants/"
# The program of this name in the guest becomes the script from the standard input, which has the original in /run.
cover() {
  name=$(basename "$1")
  : > "$root/run/$name.original"
  mount --bind "$root$1" "$root/run/$name.original"
  cat > "$root/run/$name"
  chmod 755 "$root/run/$name"
  mount --bind "$root/run/$name" "$root$1"
}
# netplan finds a device by its permanent address, which a cable between namespaces has not: by its address.
if [ -f "$root/usr/libexec/netplan/generate" ]; then
  cover /usr/libexec/netplan/generate <<'WRAPPER'
#!/bin/sh
/run/generate.original "$@" || exit $?
for each in /run/systemd/network/*netplan*.network; do
  if [ -e "$each" ]; then sed -i 's/^PermanentMACAddress=/MACAddress=/' "$each"; fi
done
WRAPPER
fi
# Devices are the machine's: there is no udev that could be asked to look at them again.
if [ -f "$root/usr/bin/udevadm" ]; then
  cover /usr/bin/udevadm <<'WRAPPER'
#!/bin/sh
case $1 in trigger | settle | control) exit 0 ;; esac
exec /run/udevadm.original "$@"
WRAPPER
fi
cd "$root"
pivot_root . .
umount -l .
echo started >&2
exec <>/dev/console >&0 2>&1
exec setsid env -i container=kule TERM=vt220 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
  setpriv --bounding-set "${DROPPED}" --inh-caps=-all /lib/systemd/systemd
`;

/**
 * Joins the machine's control groups and goes on as its guest. The exit tells how it ended: SIGHUP for a
 * guest that restarts itself, SIGINT for one that is off.
 */
export const START = `
mkdir -p "$FOLDER/root" "$FOLDER/agent"
chown "$FIRST_ID:$FIRST_ID" "$FOLDER/agent" "$(readlink -f "$FOLDER/console")"
rm -f "$FOLDER/agent/socket"
cat /proc/sys/kernel/random/uuid > "$FOLDER/boot-id"
for each in $CONTROL_GROUPS; do echo 0 > "$each/cgroup.procs"; done
read -r up _ < /proc/uptime
exec nsenter --user="$USER_NAMESPACE" --net="/run/netns/$NAME" -- \\
  unshare --mount --pid --uts --ipc --cgroup --time --boottime "-\${up%.*}" --fork --kill-child=SIGKILL \\
  sh -ec "$BOOT"
`;
