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
# The user's own group, whatever that is called.
group=$(id -g "$user")
chgrp "$group" /etc/cdc-sidecar/@properties@
[ -d /var/lib/@package@ ] || install -d -o "$user" -g "$group" -m 0750 /var/lib/@package@
# Beside cdc_raw, on its file system.
data=@data@
if [ -n "$data" ] && [ -d "$data" ] && [ ! -e "$data/cdc_relocation" ]; then
    install -d -o "$user" -g "$group" -m 0750 "$data/cdc_relocation"
fi

link() {
    # Also replaces a link of ours to a file that this version lacks.
    case "$(readlink "$2" || true)" in
        "$home"/*) [ -e "$2" ] || rm "$2" ;;
    esac
    if [ -e "$1" ] && [ ! -e "$2" ] && [ ! -L "$2" ]; then
        mkdir -p "$(dirname "$2")"
        ln -s "$1" "$2"
    fi
}

# Debian's zsh reads another folder than the others.
if command -v dpkg >/dev/null; then
    zsh=/usr/share/zsh/vendor-completions
else
    zsh=/usr/share/zsh/site-functions
fi

# Only where no other package has the name.
link "$home/bin/@command@" /usr/bin/@command@
link "$home/share/completions/bash/@command@" /usr/share/bash-completion/completions/@command@
link "$home/share/completions/zsh/_@command@" "$zsh/_@command@"
link "$home/share/completions/fish/@command@.fish" /usr/share/fish/vendor_completions.d/@command@.fish
for page in "$home"/share/man/man1/*.gz /usr/share/man/man1/@command@*.1.gz; do
    link "$home/share/man/man1/${page##*/}" "/usr/share/man/man1/${page##*/}"
done

if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # An upgrade restarts a running agent; an installation starts nothing.
    systemctl try-restart "$unit"
fi
