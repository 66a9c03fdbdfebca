// SPDX-License-Identifier: GPL-2.0
/* A host for mmu/'s kernel side: rules in host_world.h. Here: its locks and threads. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "host_world.h"
#include "switch/image.h"

void (*host_others)(void);
unsigned int host_lock_busy;
bool fake_killed;

static unsigned int locks;
static int faults_disabled;
static bool others_run;

void fake_failed(const char *file, int line, const char *cond)
{
	fprintf(stderr, "%s:%d: required %s\n", file, line, cond);
	abort();
}

void fake_meanwhile(void)
{
	int disabled = faults_disabled;
	bool in_image = fake_in_image;

	if (!host_others || others_run || locks)
		return;
	others_run = true;
	faults_disabled = 0;
	fake_in_image = false;
	host_others();
	faults_disabled = disabled;
	fake_in_image = in_image;
	others_run = false;
}

void fake_may_sleep(void)
{
	REQUIRE(!locks && !faults_disabled);
	fake_meanwhile();
}

bool host_may_fault(void)
{
	return !faults_disabled;
}

void fake_pagefaults(int change)
{
	faults_disabled -= change;
	REQUIRE(faults_disabled >= 0);
}

bool fake_trylock(spinlock_t *lock)
{
	REQUIRE(!lock->held);
	if (host_lock_busy) {
		host_lock_busy--;
		return false;
	}
	fake_meanwhile();
	lock->held = 1;
	locks++;
	return true;
}

void fake_lock(spinlock_t *lock)
{
	host_lock_busy = 0;
	REQUIRE(fake_trylock(lock));
}

void fake_unlock(spinlock_t *lock)
{
	REQUIRE(lock->held);
	lock->held = 0;
	locks--;
	fake_meanwhile();
}

static struct {
	bool begun, waits, ended;
	sem_t go, come;
	pthread_t thread;
	void (*fn)(void);
	struct srcu_struct *srcu;
} other;

/* Let the thread run until it ends, or waits. */
static void go_on(void)
{
	int disabled = faults_disabled;
	bool run = others_run;

	/* What others do meanwhile is this thread. */
	others_run = true;
	faults_disabled = 0;
	sem_post(&other.go);
	sem_wait(&other.come);
	faults_disabled = disabled;
	others_run = run;
	if (!other.ended)
		return;
	pthread_join(other.thread, NULL);
	other.begun = false;
}

static void *run_other(void *arg)
{
	sem_wait(&other.go);
	other.fn();
	other.ended = true;
	sem_post(&other.come);
	return NULL;
}

void host_thread(void (*fn)(void))
{
	REQUIRE(!other.begun);
	other.begun = true;
	other.waits = other.ended = false;
	other.fn = fn;
	sem_init(&other.go, 0, 0);
	sem_init(&other.come, 0, 0);
	REQUIRE(!pthread_create(&other.thread, NULL, run_other, NULL));
	go_on();
}

bool host_thread_waits(void)
{
	return other.begun && other.waits;
}

int fake_read_lock(struct srcu_struct *srcu)
{
	srcu->readers++;
	fake_meanwhile();
	return 0;
}

void fake_read_unlock(struct srcu_struct *srcu)
{
	REQUIRE(srcu->readers);
	srcu->readers--;
	if (!srcu->readers && other.begun && other.waits && other.srcu == srcu)
		go_on();
}

void fake_synchronize(struct srcu_struct *srcu)
{
	fake_require(!locks && !faults_disabled);
	if (!srcu->readers)
		return;
	/* Only the other thread may have readers to wait for. */
	REQUIRE(other.begun && pthread_equal(other.thread, pthread_self()));
	other.waits = true;
	other.srcu = srcu;
	sem_post(&other.come);
	sem_wait(&other.go);
	other.waits = false;
	REQUIRE(!srcu->readers);
}

void host_start(void)
{
	host_memory_start();
	host_vmm_start();
	host_lock_busy = 0;
	fake_killed = false;
	host_others = NULL;
}

void host_end(void)
{
	REQUIRE(!locks && !faults_disabled && !other.begun);
	host_vmm_end();
	host_file_end();
	host_memory_end();
}
