#!/bin/sh
# Runs in the new system, as root, after its packages have been installed.
set -eu

# A state enables what it needs. An appliance is changed by its guest agent alone.
systemctl -q disable haproxy.service keepalived.service ssh.service
systemctl -q mask ssh.service ssh.socket

install -d -m 0700 /var/lib/kule-state
# keepalived runs no script that another group than root's could replace.
chown root:root /usr/local /usr/local/lib
chmod 0755 /usr/local /usr/local/lib
