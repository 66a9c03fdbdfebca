/* SPDX-License-Identifier: GPL-2.0 */
/* A doubly linked list for code that also builds outside the kernel. */
#ifndef AV_LIB_LIST_H
#define AV_LIB_LIST_H

#include "lib/av_types.h"

struct av_list {
	struct av_list *next, *prev;
};

static inline void av_list_init(struct av_list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool av_list_empty(const struct av_list *head)
{
	return head->next == head;
}

static inline void av_list_add_tail(struct av_list *node, struct av_list *head)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

/* Leaves node as an empty list, so removing it twice is harmless. */
static inline void av_list_del(struct av_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	av_list_init(node);
}

/* Move all of list to the end of head. */
static inline void av_list_splice_tail(struct av_list *list, struct av_list *head)
{
	if (av_list_empty(list))
		return;
	list->next->prev = head->prev;
	head->prev->next = list->next;
	list->prev->next = head;
	head->prev = list->prev;
	av_list_init(list);
}

#define av_list_entry(ptr, type, member) container_of(ptr, type, member)

/* The loop may remove the current entry. */
#define av_list_for_each(pos, tmp, head, member)					\
	for ((pos) = av_list_entry((head)->next, typeof(*(pos)), member),		\
	     (tmp) = av_list_entry((pos)->member.next, typeof(*(pos)), member);		\
	     &(pos)->member != (head);							\
	     (pos) = (tmp), (tmp) = av_list_entry((pos)->member.next, typeof(*(pos)), member))

#endif /* AV_LIB_LIST_H */
