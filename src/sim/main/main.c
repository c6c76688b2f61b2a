/* main of slicesim. */
#include "sim/sim.h"

int main(int argc, char **argv)
{
    return sl_sim_main(argc, argv);
}
