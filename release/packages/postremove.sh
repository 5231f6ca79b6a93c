#!/bin/sh
# Offsets, quarantine, user and configuration remain: a later installation resumes with them.
set -e
home=@home@

# RPM removes the files of the version before only now: links to those that the new one lacks go.
for page in /usr/share/man/man1/@command@*.1.gz; do
    case "$(readlink "$page" || true)" in
        "$home"/*) [ -e "$page" ] || rm "$page" ;;
    esac
done
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
