/* Makes the files below one folder as slow to read as a slow disk: for the truth set.
 *
 * Loaded with LD_PRELOAD. HAULAGE_SLOW_FOLDER names the folder, HAULAGE_SLOW_BYTES_PER_SECOND the rate.
 * All threads share the rate, as they would share one disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

static int is_slow(int file)
{
	const char *folder = getenv("HAULAGE_SLOW_FOLDER");
	char link[64], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	ssize_t length = folder ? readlink(link, path, sizeof path - 1) : -1;
	if (length <= 0)
		return 0;
	path[length] = 0;
	return strncmp(path, folder, strlen(folder)) == 0;
}

static void take_time(int file, ssize_t bytes)
{
	const char *rate = getenv("HAULAGE_SLOW_BYTES_PER_SECOND");
	double seconds = rate && bytes > 0 ? bytes / atof(rate) : 0;
	struct timespec pause = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
	pthread_mutex_lock(&disk);
	nanosleep(&pause, NULL);
	pthread_mutex_unlock(&disk);
	posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

/* A mover may first ask for what the system has in memory already, and such a question makes the system read
 * ahead: quicker than the disk that this stands for. A system that is too old for the question is asked nothing.
 */
__attribute__((constructor)) static void be_an_old_system(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_preadv2, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof rules / sizeof *rules, rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		fputs("slow_disk: this system allows no filter, reads may come from memory\n", stderr);
}

ssize_t pread64(int file, void *buffer, size_t count, off64_t offset)
{
	static ssize_t (*real)(int, void *, size_t, off64_t);
	if (!real)
		real = dlsym(RTLD_NEXT, "pread64");
	ssize_t bytes = real(file, buffer, count, offset);
	if (is_slow(file))
		take_time(file, bytes);
	return bytes;
}

ssize_t read(int file, void *buffer, size_t count)
{
	static ssize_t (*real)(int, void *, size_t);
	if (!real)
		real = dlsym(RTLD_NEXT, "read");
	ssize_t bytes = real(file, buffer, count);
	if (bytes > 0 && is_slow(file))
		take_time(file, bytes);
	return bytes;
}
