#!/bin/sh
# Debian passes `remove` or `upgrade`, RPM the number of versions that remain.
set -e
home=@home@
unit=@package@.service

case "$1" in
    remove | 0) ;;
    *) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
    systemctl disable --now "$unit"
fi
for link in /usr/bin/@command@ /usr/share/bash-completion/completions/@command@ \
    /usr/share/zsh/vendor-completions/_@command@ /usr/share/zsh/site-functions/_@command@ \
    /usr/share/fish/vendor_completions.d/@command@.fish /usr/share/man/man1/@command@*.1.gz; do
    case "$(readlink "$link" || true)" in
        "$home"/*) rm "$link" ;;
    esac
done
