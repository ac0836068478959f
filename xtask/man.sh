#!/bin/sh
# Lets the programs print their manual pages and shell completions.
#
#   man.sh PROGRAMS FOLDER      from the programs in folder PROGRAMS, into files below FOLDER
set -eu
programs=$1 folder=$2

page() { # FILE PROGRAM WORDS...
    file=$folder/$1 program=$programs/$2
    shift 2
    mkdir -p "$(dirname "$file")"
    "$program" "$@" >"$file"
}

page man/man8/bofuss.8 bofuss generate man
page man/man5/bofuss.toml.5 bofuss generate man-toml
page man/man8/ofdatapath.8 bofuss generate man-ofdatapath
page man/man8/ofprotocol.8 bofuss generate man-ofprotocol
page man/man8/dpctl.8 dpctl --generate man
page completions/bash/bofuss bofuss generate bash
page completions/bash/dpctl dpctl --generate bash
page completions/zsh/_bofuss bofuss generate zsh
page completions/zsh/_dpctl dpctl --generate zsh
page completions/fish/bofuss.fish bofuss generate fish
page completions/fish/dpctl.fish dpctl --generate fish
page man/man8/ofmeter.8 ofmeter generate man
page completions/bash/ofmeter ofmeter generate bash
page completions/zsh/_ofmeter ofmeter generate zsh
page completions/fish/ofmeter.fish ofmeter generate fish
