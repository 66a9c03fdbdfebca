/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_FAKE_HOST_IMAGE_H
#define AV_TESTS_FAKE_HOST_IMAGE_H

/* Is this a light exit in the image? No user memory then: the fake's accesses check it. */
extern bool fake_in_image;

static inline bool av_image_here(void)
{
	return fake_in_image;
}

#define av_image_own(p, size)			(p)
#define av_image_kvzalloc(size, how)		kvzalloc(size, how)
#define av_image_kvcalloc(n, size, how)		kvcalloc(n, size, how)
#define av_image_kvfree(p)			kvfree(p)

#endif /* AV_TESTS_FAKE_HOST_IMAGE_H */
