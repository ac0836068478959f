# The developer's entry points. Each sets the machine up as far as it needs; see xtask/setup.sh.

PREFIX ?= /usr/local
# cargo's: release, or dev for a quick build with all checks
PROFILE ?= release
T := $(or $(CARGO_TARGET_DIR),target)
BUILT := $(T)/$(PROFILE:dev=debug)
SETUP := sh xtask/setup.sh
PROGRAMS := bofuss dpctl ofmeter
PACKAGES := -p bofuss-switchd -p bofuss-dpctl
# what of the programs a demo needs, built quickly
DEMO := --profile demo --no-default-features $(PACKAGES)
DEMO_BUILT := $(T)/demo
# what a demo does not need
METER := -p bofuss-measure
LIBRARY := -p bofuss-capi
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# programs work with another library of the same major and minor version
SONAME := libbofuss.so.$(basename $(VERSION))
# bofuss under other names
LINKS := ofdatapath ofprotocol
# the same in a folder of its own, so that they hide no bmv2 unless it is first on the path
BMV2 := simple_switch simple_switch_grpc
# folders that xtask/man.sh writes, and where below share each goes
PRINTED := man/man5=man/man5 man/man8=man/man8 completions/bash=bash-completion/completions \
  completions/zsh=zsh/site-functions completions/fish=fish/vendor_completions.d
SHARE := "$(DESTDIR)$(PREFIX)/share"

.PHONY: help demo build check test test-all interop fuzz ns3 audit docs dist fetch install uninstall

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' Makefile | while IFS='	' read -r name what; do \
	  printf 'make %-10s %s\n' "$$name" "$$what"; done

demo: ## build quickly, without TLS, and run the demo; make demo ARGS=--keep leaves it up
	@[ -e $(DEMO_BUILT)/bofuss ] || echo 'bofuss: the demo comes after a build: about two minutes of processor time'
	@$(SETUP) need demo
	@$(SETUP) cargo build --locked $(DEMO)
	@$(SETUP) elevate $(DEMO_BUILT)/bofuss demo $(ARGS)

build: ## build the programs as they are shipped into target/release: nine minutes of processor time
	@$(SETUP) need demo
	$(SETUP) cargo build --locked --profile $(PROFILE) $(PACKAGES) $(METER) $(LIBRARY)

check: ## format, lints, tidy, sizes, unit tests
	@$(SETUP) need check
	@$(SETUP) cargo xtask check

test: ## everything but the long tier
	@$(SETUP) need test
	@BOFUSS_PYTHON=$$($(SETUP) venv) && export BOFUSS_PYTHON && $(SETUP) cargo xtask ci

test-all: ## everything, the long tier too
	@for tier in test fuzz dist long; do $(SETUP) need $$tier || exit; done
	@BOFUSS_PYTHON=$$($(SETUP) venv) && export BOFUSS_PYTHON && $(SETUP) cargo xtask ci --all
	@$(MAKE) audit ARGS='bans licenses sources'

interop: ## openflowj, os-ken, python-openflow and tshark read all that a switch says: needs Java, Maven and network
	@$(SETUP) need interop
	@BOFUSS_PYTHON=$$($(SETUP) venv) && export BOFUSS_PYTHON && $(SETUP) cargo xtask e2e \
	  --include-ignored --nocapture others_read_everything_that_a_switch_says

fuzz: ## fuzz each target for a minute; make fuzz ARGS='600 NAME' for other times, one target
	@$(SETUP) need fuzz
	@$(SETUP) cargo xtask fuzz $(ARGS)

ns3: ## build and run the examples of the module for ns-3 3.37; installs libns3-dev if missing
	@$(SETUP) need ns3
	@$(SETUP) cargo build --locked --profile $(PROFILE) $(LIBRARY)
	$(MAKE) -C ns3 run PROFILE=$(PROFILE) CARGO_TARGET_DIR=$(abspath $(T))

audit: ## look at libraries' licences, sources and known weaknesses: builds cargo-deny, asks github.com/RustSec
	@$(SETUP) need check
	@$(SETUP) cargo deny --version >/dev/null 2>&1 || $(SETUP) cargo install --locked --version 0.20.2 cargo-deny
	$(SETUP) cargo deny check $(ARGS)

docs: ## the documentation as a site with search, into target/site; installs mdBook with cargo if missing
	@$(SETUP) need docs
	@$(SETUP) cargo xtask docs

dist: ## packages: static tarballs, Debian, images of containers, Python wheels, into target/dist
	@$(SETUP) need dist
	@$(SETUP) cargo xtask dist

fetch: ## fetch all sources; then build, demo and check need no network
	@$(SETUP) need check
	$(SETUP) cargo fetch --locked

install: build ## install into DESTDIR and PREFIX (/usr/local), manual pages and completions too
	@$(SETUP) pages $(BUILT) $(T)/share
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(PROGRAMS:%=$(BUILT)/%) "$(DESTDIR)$(PREFIX)/bin"
	for name in $(LINKS); do ln -sf bofuss "$(DESTDIR)$(PREFIX)/bin/$$name"; done
	install -d $(SHARE)/bofuss/bmv2
	for name in $(BMV2); do ln -sf ../../../bin/bofuss $(SHARE)/bofuss/bmv2/$$name; done
	install -D -m 644 -t $(SHARE)/bofuss contrib/*.py contrib/wireshark/*.lua
	for name in prometheus containerlab kathara; do \
	  install -D -m 644 -t $(SHARE)/bofuss/$$name contrib/$$name/*.* || exit; done
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/include" capi/include/bofuss.h
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/lib" $(BUILT)/libbofuss.a
	install -D -m 755 $(BUILT)/libbofuss.so "$(DESTDIR)$(PREFIX)/lib/libbofuss.so.$(VERSION)"
	strip --strip-debug "$(DESTDIR)$(PREFIX)/lib/libbofuss.a" "$(DESTDIR)$(PREFIX)/lib/libbofuss.so.$(VERSION)"
	ln -sf libbofuss.so.$(VERSION) "$(DESTDIR)$(PREFIX)/lib/$(SONAME)"
	ln -sf libbofuss.so.$(VERSION) "$(DESTDIR)$(PREFIX)/lib/libbofuss.so"
	install -d "$(DESTDIR)$(PREFIX)/lib/pkgconfig"
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' capi/bofuss.pc.in \
	  >"$(DESTDIR)$(PREFIX)/lib/pkgconfig/bofuss.pc"
	for pair in $(PRINTED); do \
	  install -D -m 644 -t $(SHARE)/$${pair#*=} $(T)/share/$${pair%=*}/* || exit; done
	install -d "$(DESTDIR)$(PREFIX)/lib/systemd/system"
	sed 's,=bofuss ,=$(PREFIX)/bin/bofuss ,' contrib/bofuss@.service \
	  >"$(DESTDIR)$(PREFIX)/lib/systemd/system/bofuss@.service"

uninstall: ## remove what install put there
	rm -f $(PROGRAMS:%="$(DESTDIR)$(PREFIX)/bin/%") $(LINKS:%="$(DESTDIR)$(PREFIX)/bin/%")
	rm -rf $(SHARE)/bofuss $(SHARE)/man/man5/bofuss.toml.5 \
	  $(patsubst %,$(SHARE)/man/man8/%.8,$(PROGRAMS) $(LINKS)) \
	  $(PROGRAMS:%=$(SHARE)/bash-completion/completions/%) \
	  $(PROGRAMS:%=$(SHARE)/zsh/site-functions/_%) \
	  $(PROGRAMS:%=$(SHARE)/fish/vendor_completions.d/%.fish)
	rm -f "$(DESTDIR)$(PREFIX)/lib/systemd/system/bofuss@.service" \
	  "$(DESTDIR)$(PREFIX)/include/bofuss.h" "$(DESTDIR)$(PREFIX)/lib/pkgconfig/bofuss.pc"
	cd "$(DESTDIR)$(PREFIX)/lib" && rm -f libbofuss.a libbofuss.so libbofuss.so.$(VERSION) $(SONAME)
