"""The Ansible role of examples/ansible: `make ansible-check`."""
