#!/bin/sh
# Runs in a system that has been unpacked onto the disk /dev/sda, whose second partition is its root: makes it boot.
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

grub-install --target=i386-pc --modules="part_gpt ext2 biosdisk" /dev/sda
update-grub
