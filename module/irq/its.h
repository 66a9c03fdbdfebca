/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An interrupt translation service (ITS). It translates a message, a DeviceID
 * and an EventID, into an LPI of a vCPU. Software sees KVM's ITS: its register
 * values, its errors, and its layout of saved tables.
 *
 * The guest maps devices, events and collections by commands in a queue in its
 * memory. As in KVM, the mappings are kept here, and the guest's tables serve
 * two purposes only: their size says which numbers may be mapped, and the VMM
 * can have the mappings saved to them (its_table.c).
 *
 * All input of the guest is hostile. The widths of the numbers bound devices
 * and collections, AV_ITS_MAX_EVENTS the events of the whole VM. One access
 * does a bounded amount of work and leaves the rest of the queue to the next
 * one; the guest makes further accesses, since it must poll GITS_CREADR.
 *
 * Locks are those of lpi.h: a message is delivered under the vGIC's lock (L),
 * everything else runs under the MSI lock (M). What a message reads changes
 * under both.
 *
 *   its.c        mappings and messages
 *   its_cmd.c    commands
 *   its_regs.c   the frame's registers
 *   its_table.c  saving and restoring
 *
 * Pure.
 */
#ifndef AV_IRQ_ITS_H
#define AV_IRQ_ITS_H

#include "irq/lpi.h"

#define AV_ITS_SIZE		0x20000	/* two frames: registers, doorbell */
#define AV_ITS_ID_BITS		16	/* of devices, events, collections */
#define AV_ITS_MAX_ID		(AV_IDMAP_IDS - 1)
#define AV_ITS_ENTRY		8	/* bytes, in each of the tables */
#define AV_ITS_CMD		32	/* bytes */
/* More than there are LPIs: reached only by mapping several events to one. */
#define AV_ITS_MAX_EVENTS	AV_IDMAP_IDS
/* Commands plus visited mappings per access. A full queue has a quarter as many commands. */
#define AV_ITS_BUDGET		0x20000

/* GITS_BASER0 and 1 */
enum av_its_table { AV_ITS_DEVICES, AV_ITS_COLLECTIONS, AV_ITS_TABLES };

#define AV_ITS_VALID		BIT_ULL(63)	/* BASERn, CBASER */
#define AV_ITS_INDIRECT		BIT_ULL(62)	/* BASERn: of two levels */
#define AV_ITS_BASER_PAGE_64K	(2ULL << 8)	/* BASERn.Page_Size, fixed … */
#define AV_ITS_TABLE_PAGE	0x10000U	/* … in bytes … */
#define AV_ITS_PER_PAGE		(AV_ITS_TABLE_PAGE / AV_ITS_ENTRY)	/* … in entries */
#define AV_ITS_PAGE_ADDRESS	GENMASK_ULL(51, 16)	/* in a first-level entry */

struct av_its_collection {
	u32 id;
	s32 target;		/* id of a vCPU, or -1 */
	struct av_list events;	/* struct av_its_event */
};

struct av_its_event {
	u32 id;
	struct av_lpi *lpi;
	struct av_its_collection *collection;	/* NULL: the collection was unmapped */
	struct av_list link;			/* in collection->events */
};

struct av_its_device {
	u32 id;
	u8 event_bits;
	u64 itt;		/* address of its table */
	struct av_idmap events;
};

struct av_its {
	struct av_vgic *vgic;
	bool enabled;
	u64 cbaser;
	u32 creadr, cwriter;	/* offsets in the queue, below its size */
	u64 baser[AV_ITS_TABLES];
	struct av_idmap devices, collections;
	u32 work;		/* spent of AV_ITS_BUDGET in this access */
};

/* The architecture's numbers of command errors. */
enum av_its_error {
	AV_ITS_MOVI_UNMAPPED_INTERRUPT = 0x010107,
	AV_ITS_MOVI_UNMAPPED_COLLECTION = 0x010109,
	AV_ITS_CLEAR_UNMAPPED_INTERRUPT = 0x010507,
	AV_ITS_MAPD_DEVICE_OOR = 0x010801,
	AV_ITS_MAPD_ITTSIZE_OOR = 0x010802,
	AV_ITS_MAPC_PROCNUM_OOR = 0x010902,
	AV_ITS_MAPC_COLLECTION_OOR = 0x010903,
	AV_ITS_MAPTI_UNMAPPED_DEVICE = 0x010a04,
	AV_ITS_MAPTI_ID_OOR = 0x010a05,
	AV_ITS_MAPTI_PHYSICALID_OOR = 0x010a06,
	AV_ITS_INV_UNMAPPED_INTERRUPT = 0x010c07,
	AV_ITS_INVALL_UNMAPPED_COLLECTION = 0x010d09,
	AV_ITS_MOVALL_PROCNUM_OOR = 0x010e01,
	AV_ITS_DISCARD_UNMAPPED_INTERRUPT = 0x010f07,
};

/* ---- its.c ------------------------------------------------------------------- */

void av_its_init(struct av_its *its, struct av_vgic *vgic);
/* M: KVM_DEV_ARM_ITS_CTRL_RESET: unmap everything, reset registers. */
void av_its_reset(struct av_its *its);

/* L: deliver a message. 1: raised, 0: not mapped, -EBUSY: the ITS or LPIs are off. */
int av_its_msi(struct av_its *its, u32 device, u32 event);

static inline struct av_its_device *av_its_device(const struct av_its *its, u32 id)
{
	return av_idmap_find(&its->devices, id);
}

static inline struct av_its_collection *av_its_collection(const struct av_its *its, u32 id)
{
	return av_idmap_find(&its->collections, id);
}

struct av_its_event *av_its_event(const struct av_its *its, u32 device, u32 event);
/* Returns the vCPU that a collection is mapped to, or NULL. */
struct av_vgic_cpu *av_its_target(const struct av_its *its,
				  const struct av_its_collection *collection);

/* M: create and remove mappings. Returns 0 or a negative errno. */
int av_its_add_device(struct av_its *its, u32 id, u64 itt, u8 event_bits);
void av_its_free_device(struct av_its *its, struct av_its_device *device);
void av_its_free_devices(struct av_its *its);
int av_its_add_collection(struct av_its *its, u32 id, s32 target,
			  struct av_its_collection **out);
void av_its_free_collection(struct av_its *its, struct av_its_collection *collection);
void av_its_free_collections(struct av_its *its);
int av_its_add_event(struct av_its *its, struct av_its_device *device, u32 id, u32 intid,
		     struct av_its_collection *collection);
void av_its_free_event(struct av_its *its, struct av_its_device *device,
		       struct av_its_event *event);
void av_its_set_collection(struct av_its *its, struct av_its_event *event,
			   struct av_its_collection *collection);
void av_its_set_target(struct av_its *its, struct av_its_collection *collection, s32 target);

/* M: does the guest's table have room for @id? Sets *entry to the entry's address. */
bool av_its_has_room(const struct av_its *its, enum av_its_table table, u32 id, u64 *entry);
/* M: the same for an event in its device's table. */
bool av_its_has_event_room(const struct av_its *its, const struct av_its_device *device,
			   u32 event);

static inline u64 av_its_table_address(u64 baser)
{
	return (baser & GENMASK_ULL(47, 16)) | (baser >> 12 & 0xf) << 48;
}

static inline u32 av_its_table_size(u64 baser)
{
	return ((baser & 0xff) + 1) * AV_ITS_TABLE_PAGE;
}

/* ---- its_cmd.c ---------------------------------------------------------------- */

static inline u32 av_its_queue_size(const struct av_its *its)
{
	return ((its->cbaser & 0xff) + 1) << 12;
}

/* M: execute a command. Returns 0, enum av_its_error, or a negative errno. */
int av_its_command(struct av_its *its, const u64 words[4]);
/* M: execute queued commands until the budget is spent. */
void av_its_run(struct av_its *its);

/* ---- its_regs.c ------------------------------------------------------------------ */

struct av_its_io {
	struct av_its *its;
	u32 offset;
	u8 len;
	bool user;		/* the VMM saves and restores */
};

/* M: one access. -ENXIO: no such register. The VMM also gets -EBUSY and -EINVAL. */
int av_its_read(const struct av_its_io *io, u64 *val);
int av_its_write(const struct av_its_io *io, u64 val);
/* Width of the VMM's accesses to the register at @offset; 0: no such register. */
u8 av_its_user_width(u32 offset);

/* ---- its_table.c ------------------------------------------------------------------ */

/* M: KVM_DEV_ARM_ITS_SAVE_TABLES and _RESTORE_TABLES. 0 or a negative errno. */
int av_its_save(struct av_its *its);
int av_its_restore(struct av_its *its);
/* M: write one entry of a table. */
int av_its_write_entry(struct av_its *its, u64 gpa, u64 entry);

#endif /* AV_IRQ_ITS_H */
