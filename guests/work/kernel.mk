# SPDX-License-Identifier: GPL-2.0
# Compiles some of the kernel's own objects, with the headers that Debian's kernel of this version
# was built with and with its flags. The same sources give the same bytes.
#   make -C /kernel OUT=FOLDER

objects := $(patsubst lib/%.c,$(OUT)/%.o,$(sort $(wildcard lib/*.c)))
includes := common/arch/arm64/include own/arch/arm64/include/generated common/include own/include \
	common/arch/arm64/include/uapi own/arch/arm64/include/generated/uapi \
	common/include/uapi own/include/generated/uapi
flags := -nostdinc -isystem /usr/lib/gcc/aarch64-linux-gnu/14/include $(includes:%=-I%) \
	-include common/include/linux/compiler-version.h -include common/include/linux/kconfig.h \
	-include common/include/linux/compiler_types.h -D__KERNEL__ -DKASAN_SHADOW_SCALE_SHIFT= \
	-mlittle-endian -std=gnu11 -fshort-wchar -funsigned-char -fno-common -fno-PIE \
	-fno-strict-aliasing -mgeneral-regs-only -mabi=lp64 -fno-asynchronous-unwind-tables \
	-fno-unwind-tables -fno-delete-null-pointer-checks -O2 -fstack-protector-strong \
	-fno-omit-frame-pointer -fno-strict-overflow -fno-stack-check -fconserve-stack \
	-Wall -Wno-address-of-packed-member

all: $(objects)
$(OUT)/%.o: lib/%.c
	cc $(flags) -DKBUILD_MODFILE='"lib/$*"' -DKBUILD_BASENAME='"$*"' -DKBUILD_MODNAME='"$*"' \
		-c -o $@ $<
