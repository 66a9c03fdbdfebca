# SPDX-License-Identifier: GPL-2.0
# Compiles libfdt as the kernel's device tree compiler has it, and one of its programs with it. The
# same sources give the same bytes, on however many CPUs.
#   make -C /src OUT=FOLDER

objects := $(patsubst %.c,%.o,$(notdir $(wildcard libfdt/*.c))) util.o fdtoverlay.o

$(OUT)/fdtoverlay: $(addprefix $(OUT)/,$(sort $(objects)))
	cc -o $@ $^
$(OUT)/%.o: libfdt/%.c
	cc -Ilibfdt -c -o $@ $<
$(OUT)/%.o: %.c
	cc -I. -Ilibfdt -c -o $@ $<
