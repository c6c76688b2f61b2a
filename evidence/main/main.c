#include "evidence/reproduce.h"

int main(int argc, char **argv)
{
    return sl_reproduce_main(argc, argv);
}
