/* sliced the program: options, wiring, signals. */
#ifndef SLICED_DAEMON_DAEMON_H
#define SLICED_DAEMON_DAEMON_H

/* Exit status: 0 done, 1 the system refused something, 2 a wrong option, configuration or
 * manifest. */
int sl_daemon_main(int argc, char **argv);

#endif
