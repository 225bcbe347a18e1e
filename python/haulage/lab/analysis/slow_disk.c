/* Makes the files below one folder as slow to read as a slow disk: for the truth set.
 *
 * Loaded with LD_PRELOAD. HAULAGE_SLOW_FOLDER names the folder, HAULAGE_SLOW_BYTES_PER_SECOND the rate.
 * All threads share the rate, as they would share one disk. The page cache is told to keep nothing, so
 * that every read comes here: a mover may ask first for what the system has in memory already.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* From the beginning no reading ahead, which would be quicker than the disk that this stands for. */
int open64(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list rest;
	va_start(rest, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if (!real)
		real = dlsym(RTLD_NEXT, "open64");
	int file = real(path, flags, mode);
	if (file >= 0 && is_slow(file))
		posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
	return file;
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
