/* main of sliced. */
#include "daemon/daemon.h"

int main(int argc, char **argv)
{
    return sl_daemon_main(argc, argv);
}
