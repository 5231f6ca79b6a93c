#!/bin/sh
# Both formats run it after the files are there, for an installation and for an upgrade.
set -e
home=@home@
unit=@package@.service
user=@user@

# The packages of Cassandra create the user `cassandra` too.
getent group "$user" >/dev/null || groupadd --system "$user"
getent passwd "$user" >/dev/null ||
    useradd --system --gid "$user" --home-dir /var/lib/@package@ --no-create-home \
        --shell /usr/sbin/nologin "$user"
chgrp "$user" /etc/cdc-sidecar/@properties@

link() {
    if [ ! -e "$2" ] && [ ! -L "$2" ]; then
        mkdir -p "$(dirname "$2")"
        ln -s "$1" "$2"
    fi
}

# Only where no other package has the name.
link "$home/bin/@command@" /usr/bin/@command@
link "$home/share/completions/bash/@command@" /usr/share/bash-completion/completions/@command@
link "$home/share/completions/zsh/_@command@" /usr/share/zsh/vendor-completions/_@command@
link "$home/share/completions/fish/@command@.fish" /usr/share/fish/vendor_completions.d/@command@.fish
for page in "$home"/share/man/man1/*.gz; do
    link "$page" "/usr/share/man/man1/${page##*/}"
done

if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # An upgrade restarts a running agent; an installation starts nothing.
    systemctl try-restart "$unit"
fi
