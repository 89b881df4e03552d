#!/bin/sh
# Runs in a system that has been unpacked onto a partition of a disk with a partition for the boot loader: makes it boot.
set -eu

cat > /etc/fstab <<'TABLE'
LABEL=root / ext4 defaults,discard,errors=remount-ro 0 1
TABLE
mkdir -p /etc/default/grub.d
cat > /etc/default/grub.d/90-kule.cfg <<'CFG'
GRUB_TIMEOUT=1
GRUB_CMDLINE_LINUX_DEFAULT=""
GRUB_CMDLINE_LINUX="console=tty0 console=ttyS0,115200"
CFG
# The name that the disk has on a hypervisor is not the one here.
echo 'GRUB_DISABLE_LINUX_PARTUUID=true' >> /etc/default/grub.d/90-kule.cfg

# libguestfs has a disk of its own beside this one, and either may be /dev/sda.
grub-install --target=i386-pc "$(grub-probe --target=disk /)"
update-grub
