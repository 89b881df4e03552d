#!/bin/sh
# Runs in the new system, as root, after its packages have been installed.
set -eu

# cloud-init configures systemd-networkd itself: ifupdown, where it is installed, would be preferred to it.
if dpkg-query -W ifupdown >/dev/null 2>&1; then dpkg --purge ifupdown; fi
cat > /etc/cloud/cloud.cfg.d/90-kule.cfg <<'CFG'
datasource_list: [NoCloud, ConfigDrive, None]
locale: C.UTF-8
system_info:
  network:
    renderers: [networkd, netplan]
CFG

systemctl -q enable systemd-networkd.service systemd-resolved.service ssh.service

# wait-online delays the boot until every interface has a link; first-boot questions have no one who answers them.
systemctl -q mask systemd-networkd-wait-online.service systemd-firstboot.service

# Each guest makes its own.
rm -f /etc/ssh/ssh_host_* /var/lib/systemd/random-seed /var/lib/dbus/machine-id
echo uninitialized > /etc/machine-id
ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/apt/archives/*.deb /var/log/apt /var/log/dpkg.log \
  /var/lib/cloud/instances /var/lib/cloud/seed
