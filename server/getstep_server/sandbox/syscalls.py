"""The system calls that the filter of the sandbox names, with their numbers on x86_64 and on aarch64 (- for none).

The numbers are from Linux 6.1: asm/unistd_64.h, and asm-generic/unistd.h for aarch64. Numbers never change.
"""

from __future__ import annotations

ALLOWED = """
access:21:- alarm:37:- arch_prctl:158:- brk:12:214 capget:125:90 chdir:80:49 chmod:90:- chown:92:-
clock_getres:229:114 clock_gettime:228:113 clock_nanosleep:230:115 close:3:57 close_range:436:436
copy_file_range:326:285 creat:85:- dup:32:23 dup2:33:- dup3:292:24 epoll_create:213:- epoll_create1:291:20
epoll_ctl:233:21 epoll_pwait:281:22 epoll_pwait2:441:441 epoll_wait:232:- eventfd:284:- eventfd2:290:19
exit:60:93 exit_group:231:94 faccessat:269:48 faccessat2:439:439 fallocate:285:47 fchdir:81:50 fchmod:91:52
fchmodat:268:53 fchown:93:55 fchownat:260:54 fgetxattr:193:10 flistxattr:196:13 fstat:5:80 fstatfs:138:44
ftruncate:77:46 futex:202:98 futex_waitv:449:449 futimesat:261:- get_robust_list:274:100 getcpu:309:168
getcwd:79:17 getdents:78:- getdents64:217:61 getegid:108:177 geteuid:107:175 getgid:104:176 getgroups:115:158
getitimer:36:102 getpeername:52:205 getpgid:121:155 getpgrp:111:- getpid:39:172 getppid:110:173
getpriority:140:141 getrandom:318:278 getresgid:120:150 getresuid:118:148 getrlimit:97:163 getrusage:98:165
getsid:124:156 getsockname:51:204 getsockopt:55:209 gettid:186:178 gettimeofday:96:169 getuid:102:174
getxattr:191:8 lchown:94:- lgetxattr:192:9 link:86:- linkat:265:37 listxattr:194:11 llistxattr:195:12 lseek:8:62
lstat:6:- membarrier:324:283 mincore:27:232 mkdir:83:- mkdirat:258:34 mlock:149:228 mlock2:325:284
mlockall:151:230 mprotect:10:226 mremap:25:216 munlock:150:229 munlockall:152:231 munmap:11:215 nanosleep:35:101
newfstatat:262:79 open:2:- openat:257:56 openat2:437:437 pause:34:- pipe:22:- pipe2:293:59 pkey_alloc:330:289
pkey_free:331:290 pkey_mprotect:329:288 poll:7:- ppoll:271:73 pread64:17:67 preadv:295:69 preadv2:327:286
prlimit64:302:261 pselect6:270:72 pwrite64:18:68 pwritev:296:70 pwritev2:328:287 read:0:63 readlink:89:-
readlinkat:267:78 readv:19:65 recvfrom:45:207 recvmmsg:299:243 recvmsg:47:212 rename:82:- renameat:264:38
renameat2:316:276 restart_syscall:219:128 rmdir:84:- rseq:334:293 rt_sigaction:13:134 rt_sigpending:127:136
rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigsuspend:130:133 rt_sigtimedwait:128:137
sched_get_priority_max:146:125 sched_get_priority_min:147:126 sched_getaffinity:204:123 sched_getattr:315:275
sched_getparam:143:121 sched_getscheduler:145:120 sched_rr_get_interval:148:127 sched_yield:24:124 select:23:-
sendfile:40:71 sendmmsg:307:269 sendmsg:46:211 sendto:44:206 set_robust_list:273:99 set_tid_address:218:96
setitimer:38:103 setpgid:109:154 setpriority:141:140 setrlimit:160:164 setsid:112:157 shutdown:48:210
sigaltstack:131:132 signalfd:282:- signalfd4:289:74 stat:4:- statfs:137:43 statx:332:291 symlink:88:-
symlinkat:266:36 sysinfo:99:179 time:201:- timerfd_create:283:85 timerfd_gettime:287:87 timerfd_settime:286:86
times:100:153 truncate:76:45 umask:95:166 uname:63:160 unlink:87:- unlinkat:263:35 utime:132:- utimensat:280:88
utimes:235:- wait4:61:260 waitid:247:95 write:1:64 writev:20:66
"""
"""Calls that work on the program's own memory, threads, files and pipes."""

CHECKED = """
clone:56:220 clone3:435:435 execve:59:221 fcntl:72:25 fork:57:- ioctl:16:29 kill:62:129 madvise:28:233 mmap:9:222
personality:135:92 prctl:157:167 rt_sigqueueinfo:129:138 rt_tgsigqueueinfo:297:240 socketpair:53:199
tgkill:234:131 tkill:200:130 vfork:58:-
"""
"""Calls that depend on their arguments: see `seccomp`."""

WITHOUT_EFFECT = """
fadvise64:221:223 fdatasync:75:83 flock:73:32 fsync:74:82 msync:26:227 sched_setparam:142:118
sched_setscheduler:144:119 sync:162:81 sync_file_range:277:84 syncfs:306:267
"""
"""Calls that succeed and do nothing. The program's files are in memory; `sync` and its kin would delay the server's
journal. `flock` and `fadvise64` would reach the other program of the match through a file that both may read.

Mono prints a complaint on standard output, where moves are expected, if it cannot set the priority of a thread.
"""

REFUSED = """
accept:43:202 accept4:288:242 acct:163:89 add_key:248:217 adjtimex:159:171 bind:49:200 bpf:321:280 capset:126:91
chroot:161:51 clock_adjtime:305:266 clock_settime:227:112 connect:42:203 delete_module:176:106 execveat:322:281
fanotify_init:300:262 fanotify_mark:301:263 finit_module:313:273 fsconfig:431:431 fsetxattr:190:7
fsmount:432:432 fsopen:430:430 fspick:433:433 init_module:175:105 inotify_add_watch:254:27 inotify_init:253:-
inotify_init1:294:26 inotify_rm_watch:255:28 io_uring_enter:426:426 io_uring_register:427:427
io_uring_setup:425:425 ioperm:173:- iopl:172:- ioprio_set:251:30 kcmp:312:272 kexec_file_load:320:294
kexec_load:246:104 keyctl:250:219 listen:50:201 lsetxattr:189:6 memfd_create:319:279 memfd_secret:447:447
mknod:133:- mknodat:259:33 mount:165:40 mount_setattr:442:442 move_mount:429:429 mq_notify:244:184
mq_open:240:180 mq_unlink:241:181 msgctl:71:187 msgget:68:186 msgrcv:70:188 msgsnd:69:189
name_to_handle_at:303:264 open_by_handle_at:304:265 open_tree:428:428 perf_event_open:298:241
pidfd_getfd:438:438 pidfd_open:434:434 pidfd_send_signal:424:424 pivot_root:155:41 process_madvise:440:440
process_mrelease:448:448 process_vm_readv:310:270 process_vm_writev:311:271 ptrace:101:117 quotactl:179:60
reboot:169:142 request_key:249:218 sched_setaffinity:203:122 sched_setattr:314:274 seccomp:317:277 semctl:66:191
semget:64:190 semop:65:193 semtimedop:220:192 setdomainname:171:162 setfsgid:123:152 setfsuid:122:151
setgid:106:144 setgroups:116:159 sethostname:170:161 setns:308:268 setregid:114:143 setresgid:119:149
setresuid:117:147 setreuid:113:145 setsockopt:54:208 settimeofday:164:170 setuid:105:146 setxattr:188:5
shmat:30:196 shmctl:31:195 shmdt:67:197 shmget:29:194 socket:41:198 splice:275:76 swapoff:168:225 swapon:167:224
syslog:103:116 tee:276:77 timer_create:222:107 timer_delete:226:111 timer_getoverrun:225:109
timer_gettime:224:108 timer_settime:223:110 umount2:166:39 unshare:272:97 userfaultfd:323:282 vhangup:153:58
vmsplice:278:75
"""
"""Calls that fail with EPERM. All calls that are not named here fail with ENOSYS, as in an older kernel."""


def numbers(table: str, machine: str) -> dict[str, int]:
    """Return the calls of a table that exist on ``x86_64`` or ``aarch64``."""
    column = {"x86_64": 1, "aarch64": 2}[machine]
    rows = [entry.split(":") for entry in table.split()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
