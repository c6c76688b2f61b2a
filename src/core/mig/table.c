/* The table of MIG models: profiles, placements, boards. A table and nothing else; the logic is in
 * mig.c. Each model cites where its numbers are from. */
#include "core/mig/table.h"

/* Bits of the memory slices at which a placement may start. */
enum {
    ANY_OF_4 = 0x00f,       /* 0 1 2 3 */
    ANY_OF_7 = 0x07f,       /* 0..6: the eighth memory slice has no compute slice of its own */
    PAIRS_OF_4 = 0x005,     /* 0 2 */
    PAIRS_OF_6 = 0x015,     /* 0 2 4 */
    PAIRS_OF_8 = 0x055,     /* 0 2 4 6 */
    HALVES_OF_8 = 0x011,    /* 0 4 */
    QUARTERS_OF_12 = 0x249, /* 0 3 6 9: three memory slices to a compute slice */
    HALVES_OF_12 = 0x041,   /* 0 6 */
    FIRST = 0x001,
    SECOND = 0x002,
    ANY_OF_2 = 0x003,
};

/* name, suffix of the resource name, compute slices, memory slices, maximum, attributes, starts,
 * whether it holds an engine that exists once per device, GB in the name, MiB of memory: the least
 * that a driver was seen to tell, 0 where none was */
#define PROFILE(name, resource, compute, memory, max, attributes, starts, exclusive, gb, mib)      \
    {                                                                                              \
        name, "nvidia.com/mig-" resource, compute, memory, max, attributes, starts, exclusive, gb, \
            mib                                                                                    \
    }

/* A30. Names and counts: NVIDIA MIG User Guide, "Supported MIG Profiles" (r580 to r610).
 * Placements: captured "nvidia-smi mig -lgipp"; go-nvml's mock of the board and mig-parted's
 * default configuration agree. Memory: captured -lgip. (One early revision of the guide printed
 * starts on an axis of 8.) */
static const struct sl_mig_profile A30[] = {
    PROFILE("1g.6gb", "1g.6gb", 1, 1, 4, 0, ANY_OF_4, false, 6, 5952),
    PROFILE("1g.6gb+me", "1g.6gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_4, true, 6, 5952),
    PROFILE("2g.12gb", "2g.12gb", 2, 2, 2, 0, PAIRS_OF_4, false, 12, 11968),
    PROFILE("2g.12gb+me", "2g.12gb.me", 2, 2, 1, SL_MIG_ME, PAIRS_OF_4, true, 12, 11968),
    PROFILE("4g.24gb", "4g.24gb", 4, 4, 1, 0, FIRST, true, 24, 24064),
};

/* A100 and A800 with 40 GB. Names, counts and placements: MIG User Guide ("Supported MIG Profiles",
 * and its own -lgip and -lgipp examples, of memory too); go-nvml's mock and mig-parted's default
 * configuration agree. */
static const struct sl_mig_profile A100_40[] = {
    PROFILE("1g.5gb", "1g.5gb", 1, 1, 7, 0, ANY_OF_7, false, 5, 4864),
    PROFILE("1g.5gb+me", "1g.5gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 5, 4864),
    PROFILE("1g.10gb", "1g.10gb", 1, 2, 4, 0, PAIRS_OF_8, false, 10, 9856),
    PROFILE("2g.10gb", "2g.10gb", 2, 2, 3, 0, PAIRS_OF_6, false, 10, 9856),
    PROFILE("3g.20gb", "3g.20gb", 3, 4, 2, 0, HALVES_OF_8, false, 20, 19968),
    PROFILE("4g.20gb", "4g.20gb", 4, 4, 1, 0, FIRST, false, 20, 19968),
    PROFILE("7g.40gb", "7g.40gb", 7, 8, 1, 0, FIRST, true, 40, 40192),
};

/* A100 and A800 with 80 GB. Names and counts: MIG User Guide, mig-parted. Placements: as the 40 GB
 * board, and so in a second project's table (NexusGPU/tensor-fusion, chart values). Drivers have
 * shown 3g.39gb and 7g.79gb (nos#51, mig-parted#31). Memory: captured -lgip. */
static const struct sl_mig_profile A100_80[] = {
    PROFILE("1g.10gb", "1g.10gb", 1, 1, 7, 0, ANY_OF_7, false, 10, 9728),
    PROFILE("1g.10gb+me", "1g.10gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 10, 9728),
    PROFILE("1g.20gb", "1g.20gb", 1, 2, 4, 0, PAIRS_OF_8, false, 20, 19968),
    PROFILE("2g.20gb", "2g.20gb", 2, 2, 3, 0, PAIRS_OF_6, false, 20, 19968),
    PROFILE("3g.40gb", "3g.40gb", 3, 4, 2, 0, HALVES_OF_8, false, 40, 40192),
    PROFILE("4g.40gb", "4g.40gb", 4, 4, 1, 0, FIRST, false, 40, 40192),
    PROFILE("7g.80gb", "7g.80gb", 7, 8, 1, 0, FIRST, true, 80, 80896),
};

/* H100 and H800 with 80 GB. Names and counts: MIG User Guide, mig-parted. Placements: several
 * captured -lgipp outputs, and NVML (driver 580.159), which tells the memory too. go-nvml's mock
 * says otherwise (3g of size 3) and is wrong. */
static const struct sl_mig_profile H100_80[] = {
    PROFILE("1g.10gb", "1g.10gb", 1, 1, 7, 0, ANY_OF_7, false, 10, 9984),
    PROFILE("1g.10gb+me", "1g.10gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 10, 9984),
    PROFILE("1g.20gb", "1g.20gb", 1, 2, 4, 0, PAIRS_OF_8, false, 20, 20096),
    PROFILE("2g.20gb", "2g.20gb", 2, 2, 3, 0, PAIRS_OF_6, false, 20, 20096),
    PROFILE("3g.40gb", "3g.40gb", 3, 4, 2, 0, HALVES_OF_8, false, 40, 40448),
    PROFILE("4g.40gb", "4g.40gb", 4, 4, 1, 0, FIRST, false, 40, 40448),
    PROFILE("7g.80gb", "7g.80gb", 7, 8, 1, 0, FIRST, true, 80, 81152),
};

/* H100 with 94 GB. Names and counts: MIG User Guide, mig-parted. Placements: captured -lgipp of an
 * H100 NVL; memory: -lgip of it, and of one with less. */
static const struct sl_mig_profile H100_94[] = {
    PROFILE("1g.12gb", "1g.12gb", 1, 1, 7, 0, ANY_OF_7, false, 12, 10880),
    PROFILE("1g.12gb+me", "1g.12gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 12, 10880),
    PROFILE("1g.24gb", "1g.24gb", 1, 2, 4, 0, PAIRS_OF_8, false, 24, 22016),
    PROFILE("2g.24gb", "2g.24gb", 2, 2, 3, 0, PAIRS_OF_6, false, 24, 22016),
    PROFILE("3g.47gb", "3g.47gb", 3, 4, 2, 0, HALVES_OF_8, false, 47, 47232),
    PROFILE("4g.47gb", "4g.47gb", 4, 4, 1, 0, FIRST, false, 47, 47232),
    PROFILE("7g.94gb", "7g.94gb", 7, 8, 1, 0, FIRST, true, 94, 94848),
};

/* Boards with 96 GB. Names and counts: MIG User Guide, mig-parted. Placements inferred: same
 * profile ids and same eighths as the other boards with seven slices. GH200's label names the CPU's
 * 480 GB. */
static const struct sl_mig_profile HOPPER_96[] = {
    PROFILE("1g.12gb", "1g.12gb", 1, 1, 7, 0, ANY_OF_7, false, 12, 0),
    PROFILE("1g.12gb+me", "1g.12gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 12, 0),
    PROFILE("1g.24gb", "1g.24gb", 1, 2, 4, 0, PAIRS_OF_8, false, 24, 0),
    PROFILE("2g.24gb", "2g.24gb", 2, 2, 3, 0, PAIRS_OF_6, false, 24, 0),
    PROFILE("3g.48gb", "3g.48gb", 3, 4, 2, 0, HALVES_OF_8, false, 48, 0),
    PROFILE("4g.48gb", "4g.48gb", 4, 4, 1, 0, FIRST, false, 48, 0),
    PROFILE("7g.96gb", "7g.96gb", 7, 8, 1, 0, FIRST, true, 96, 0),
};

/* H200. Names and counts: MIG User Guide, mig-parted#120 (-lgip). Placements and memory: NVML of an
 * H200 (driver 580.159). */
static const struct sl_mig_profile H200[] = {
    PROFILE("1g.18gb", "1g.18gb", 1, 1, 7, 0, ANY_OF_7, false, 18, 16384),
    PROFILE("1g.18gb+me", "1g.18gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 18, 16384),
    PROFILE("1g.35gb", "1g.35gb", 1, 2, 4, 0, PAIRS_OF_8, false, 35, 33280),
    PROFILE("2g.35gb", "2g.35gb", 2, 2, 3, 0, PAIRS_OF_6, false, 35, 33280),
    PROFILE("3g.71gb", "3g.71gb", 3, 4, 2, 0, HALVES_OF_8, false, 71, 71424),
    PROFILE("4g.71gb", "4g.71gb", 4, 4, 1, 0, FIRST, false, 71, 71424),
    PROFILE("7g.141gb", "7g.141gb", 7, 8, 1, 0, FIRST, true, 141, 143360),
};

/* GH200 with 144 GB. Names and counts: mig-parted#139 (-lgip). Placements and label inferred.
 * Memory: there, of the smaller ones. */
static const struct sl_mig_profile GH200_144[] = {
    PROFILE("1g.18gb", "1g.18gb", 1, 1, 7, 0, ANY_OF_7, false, 18, 17920),
    PROFILE("1g.18gb+me", "1g.18gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 18, 17920),
    PROFILE("1g.36gb", "1g.36gb", 1, 2, 4, 0, PAIRS_OF_8, false, 36, 36096),
    PROFILE("2g.36gb", "2g.36gb", 2, 2, 3, 0, PAIRS_OF_6, false, 36, 36096),
    PROFILE("3g.72gb", "3g.72gb", 3, 4, 2, 0, HALVES_OF_8, false, 72, 0),
    PROFILE("4g.72gb", "4g.72gb", 4, 4, 1, 0, FIRST, false, 72, 0),
    PROFILE("7g.144gb", "7g.144gb", 7, 8, 1, 0, FIRST, true, 144, 0),
};

/* B200. Names and counts: MIG User Guide, mig-parted#166 and #187, gpu-operator#1242 and #1351
 * (-lgip, of memory too). Placements: by NVIDIA's DRA driver 3g.90gb takes 4 of 8 memory slices,
 * and two of them take all; the other starts are inferred. go-nvml's mock says otherwise and is
 * wrong. */
static const struct sl_mig_profile B200[] = {
    PROFILE("1g.23gb", "1g.23gb", 1, 1, 7, 0, ANY_OF_7, false, 23, 20992),
    PROFILE("1g.23gb+me", "1g.23gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 23, 20992),
    PROFILE("1g.45gb", "1g.45gb", 1, 2, 4, 0, PAIRS_OF_8, false, 45, 45312),
    PROFILE("2g.45gb", "2g.45gb", 2, 2, 3, 0, PAIRS_OF_6, false, 45, 45312),
    PROFILE("3g.90gb", "3g.90gb", 3, 4, 2, 0, HALVES_OF_8, false, 90, 0),
    PROFILE("4g.90gb", "4g.90gb", 4, 4, 1, 0, FIRST, false, 90, 0),
    PROFILE("7g.180gb", "7g.180gb", 7, 8, 1, 0, FIRST, true, 180, 0),
};

/* GB200. Names and counts: mig-parted#227 and #228, gpu-operator#1303 (-lgip, of memory too); some
 * units show 1g.24gb, 3g.95gb, 7g.189gb. Placements inferred. */
static const struct sl_mig_profile GB200[] = {
    PROFILE("1g.23gb", "1g.23gb", 1, 1, 7, 0, ANY_OF_7, false, 23, 20480),
    PROFILE("1g.23gb+me", "1g.23gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 23, 20480),
    PROFILE("1g.47gb", "1g.47gb", 1, 2, 4, 0, PAIRS_OF_8, false, 47, 46592),
    PROFILE("2g.47gb", "2g.47gb", 2, 2, 3, 0, PAIRS_OF_6, false, 47, 46592),
    PROFILE("3g.93gb", "3g.93gb", 3, 4, 2, 0, HALVES_OF_8, false, 93, 0),
    PROFILE("4g.93gb", "4g.93gb", 4, 4, 1, 0, FIRST, false, 93, 0),
    PROFILE("7g.186gb", "7g.186gb", 7, 8, 1, 0, FIRST, true, 186, 0),
};

/* B300. Names and counts: mig-parted's default configuration alone. Placements and label inferred.
 */
static const struct sl_mig_profile B300[] = {
    PROFILE("1g.34gb", "1g.34gb", 1, 1, 7, 0, ANY_OF_7, false, 34, 0),
    PROFILE("1g.34gb+me", "1g.34gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 34, 0),
    PROFILE("1g.67gb", "1g.67gb", 1, 2, 4, 0, PAIRS_OF_8, false, 67, 0),
    PROFILE("2g.67gb", "2g.67gb", 2, 2, 3, 0, PAIRS_OF_6, false, 67, 0),
    PROFILE("3g.135gb", "3g.135gb", 3, 4, 2, 0, HALVES_OF_8, false, 135, 0),
    PROFILE("4g.135gb", "4g.135gb", 4, 4, 1, 0, FIRST, false, 135, 0),
    PROFILE("7g.269gb", "7g.269gb", 7, 8, 1, 0, FIRST, true, 269, 0),
};

/* GB300. Names and counts: mig-parted's default configuration alone. Placements and label inferred.
 */
static const struct sl_mig_profile GB300[] = {
    PROFILE("1g.35gb", "1g.35gb", 1, 1, 7, 0, ANY_OF_7, false, 35, 0),
    PROFILE("1g.35gb+me", "1g.35gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_7, true, 35, 0),
    PROFILE("1g.70gb", "1g.70gb", 1, 2, 4, 0, PAIRS_OF_8, false, 70, 0),
    PROFILE("2g.70gb", "2g.70gb", 2, 2, 3, 0, PAIRS_OF_6, false, 70, 0),
    PROFILE("3g.139gb", "3g.139gb", 3, 4, 2, 0, HALVES_OF_8, false, 139, 0),
    PROFILE("4g.139gb", "4g.139gb", 4, 4, 1, 0, FIRST, false, 139, 0),
    PROFILE("7g.278gb", "7g.278gb", 7, 8, 1, 0, FIRST, true, 278, 0),
};

/* RTX PRO 6000 Blackwell: 12 memory slices. Names and counts: MIG User Guide, mig-parted.
 * Placements: captured -lgip, of memory too, and -lgipp. It is inferred that only -me fits beside a
 * +me.all instance, which owns all four media engines. */
static const struct sl_mig_profile RTX_PRO_6000[] = {
    PROFILE("1g.24gb", "1g.24gb", 1, 3, 4, 0, QUARTERS_OF_12, false, 24, 23680),
    PROFILE("1g.24gb+me", "1g.24gb.me", 1, 3, 1, SL_MIG_ME, QUARTERS_OF_12, true, 24, 23680),
    PROFILE("1g.24gb+gfx", "1g.24gb.gfx", 1, 3, 4, SL_MIG_GFX, QUARTERS_OF_12, false, 24, 23680),
    PROFILE("1g.24gb+me.all", "1g.24gb.me.all", 1, 3, 1, SL_MIG_ME_ALL, QUARTERS_OF_12, false, 24,
            23680),
    PROFILE("1g.24gb-me", "1g.24gb-me", 1, 3, 4, SL_MIG_NO_ME, QUARTERS_OF_12, false, 24, 23680),
    PROFILE("2g.48gb", "2g.48gb", 2, 6, 2, 0, HALVES_OF_12, false, 48, 48512),
    PROFILE("2g.48gb+gfx", "2g.48gb.gfx", 2, 6, 2, SL_MIG_GFX, HALVES_OF_12, false, 48, 48512),
    PROFILE("2g.48gb+me.all", "2g.48gb.me.all", 2, 6, 1, SL_MIG_ME_ALL, HALVES_OF_12, false, 48,
            48512),
    PROFILE("2g.48gb-me", "2g.48gb-me", 2, 6, 2, SL_MIG_NO_ME, HALVES_OF_12, false, 48, 48512),
    PROFILE("4g.96gb", "4g.96gb", 4, 12, 1, 0, FIRST, true, 96, 97280),
    PROFILE("4g.96gb+gfx", "4g.96gb.gfx", 4, 12, 1, SL_MIG_GFX, FIRST, true, 96, 97280),
};

/* RTX PRO 5000 Blackwell with 48 GB. Names and counts: MIG User Guide. Placements inferred: the
 * guide gives each small instance half of the memory. The board with 72 GB is not in the guide. */
static const struct sl_mig_profile RTX_PRO_5000[] = {
    PROFILE("1g.24gb", "1g.24gb", 1, 1, 2, 0, ANY_OF_2, false, 24, 0),
    PROFILE("1g.24gb+me", "1g.24gb.me", 1, 1, 1, SL_MIG_ME, ANY_OF_2, true, 24, 0),
    PROFILE("1g.24gb+gfx", "1g.24gb.gfx", 1, 1, 2, SL_MIG_GFX, ANY_OF_2, false, 24, 0),
    PROFILE("1g.24gb+me.all", "1g.24gb.me.all", 1, 1, 1, SL_MIG_ME_ALL, ANY_OF_2, false, 24, 0),
    PROFILE("1g.24gb-me", "1g.24gb-me", 1, 1, 2, SL_MIG_NO_ME, ANY_OF_2, false, 24, 0),
    PROFILE("2g.48gb", "2g.48gb", 2, 2, 1, 0, FIRST, true, 48, 0),
    PROFILE("2g.48gb+gfx", "2g.48gb.gfx", 2, 2, 1, SL_MIG_GFX, FIRST, true, 48, 0),
};

/* RTX PRO 4500 Blackwell. Names and counts: MIG User Guide. Placements inferred, likewise. */
static const struct sl_mig_profile RTX_PRO_4500[] = {
    PROFILE("1g.16gb", "1g.16gb", 1, 1, 2, 0, ANY_OF_2, false, 16, 0),
    PROFILE("1g.16gb+gfx", "1g.16gb.gfx", 1, 1, 2, SL_MIG_GFX, ANY_OF_2, false, 16, 0),
    PROFILE("1g.16gb+me.all", "1g.16gb.me.all", 1, 1, 1, SL_MIG_ME_ALL, ANY_OF_2, false, 16, 0),
    PROFILE("1g.16gb-me", "1g.16gb-me", 1, 1, 2, SL_MIG_NO_ME, ANY_OF_2, false, 16, 0),
    PROFILE("2g.32gb", "2g.32gb", 2, 2, 1, 0, FIRST, true, 32, 0),
    PROFILE("2g.32gb+gfx", "2g.32gb.gfx", 2, 2, 1, SL_MIG_GFX, FIRST, true, 32, 0),
};

/* Thor's GPU shares the memory of the machine, so profiles have 0 GB. Names and counts: MIG User
 * Guide, which says besides that at most one instance for computing and one for graphics exist, and
 * none beside 3g. That is what these two "memory slices" mean: the first is for computing, the
 * second for graphics. */
static const struct sl_mig_profile THOR[] = {
    PROFILE("1g.0gb", "1g.0gb", 1, 1, 1, 0, FIRST, false, 0, 0),
    PROFILE("1g.0gb+me", "1g.0gb.me", 1, 1, 1, SL_MIG_ME, FIRST, true, 0, 0),
    PROFILE("1g.0gb+gfx", "1g.0gb.gfx", 1, 1, 1, SL_MIG_GFX, SECOND, false, 0, 0),
    PROFILE("2g.0gb", "2g.0gb", 2, 1, 1, 0, FIRST, false, 0, 0),
    PROFILE("2g.0gb+gfx", "2g.0gb.gfx", 2, 1, 1, SL_MIG_GFX, SECOND, false, 0, 0),
    PROFILE("3g.0gb", "3g.0gb", 3, 2, 1, 0, FIRST, true, 0, 0),
    PROFILE("3g.0gb+gfx", "3g.0gb.gfx", 3, 2, 1, SL_MIG_GFX, FIRST, true, 0, 0),
};

/* Indexes of the table, for the families below. */
enum {
    M_A30,
    M_A100_40,
    M_A100_80,
    M_H100_80,
    M_H100_94,
    M_HOPPER_96,
    M_H200,
    M_GH200_144,
    M_B200,
    M_GB200,
    M_B300,
    M_GB300,
    M_RTX_PRO_6000,
    M_RTX_PRO_5000,
    M_RTX_PRO_4500,
    M_THOR,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct sl_mig_model sl_mig_models[SL_MIG_MODELS] = {
    {.name = "A30-24GB",
     .products = (const char *const[]){"NVIDIA-A30", "A30", NULL},
     .pci_ids = (const char *const[]){"0x20B710DE", NULL},
     .memory_gib = 24,
     .compute_slices = 4,
     .memory_slices = 4,
     .n_profiles = COUNT(A30),
     .profiles = A30,
     .placements_verified = true},
    {.name = "A100-40GB / A800-40GB",
     .products = (const char *const[]){"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB",
                                       "A100-SXM4-40GB", "NVIDIA-A800-SXM4-40GB", NULL},
     .pci_ids = (const char *const[]){"0x20B010DE", "0x20B110DE", "0x20F110DE", "0x20F610DE", NULL},
     .memory_gib = 40,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(A100_40),
     .profiles = A100_40,
     .placements_verified = true},
    {.name = "A100-80GB / A800-80GB",
     .products = (const char *const[]){"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe",
                                       "NVIDIA-A800-80GB-PCIe", NULL},
     .pci_ids = (const char *const[]){"0x20B210DE", "0x20B510DE", "0x20F310DE", "0x20F510DE", NULL},
     .memory_gib = 80,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(A100_80),
     .profiles = A100_80,
     .placements_verified = true},
    {.name = "H100-80GB / H800-80GB",
     .products =
         (const char *const[]){"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H800", NULL},
     .pci_ids = (const char *const[]){"0x233010DE", "0x233110DE", "0x232210DE", "0x232410DE", NULL},
     .memory_gib = 80,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(H100_80),
     .profiles = H100_80,
     .placements_verified = true},
    {.name = "H100-NVL-94GB / H800-NVL / H100-SXM5-94GB",
     .products = (const char *const[]){"NVIDIA-H100-NVL", NULL},
     .pci_ids = (const char *const[]){"0x232110DE", "0x233A10DE", NULL},
     .memory_gib = 94,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(H100_94),
     .profiles = H100_94,
     .placements_verified = true},
    {.name = "H100-96GB / GH200-96GB / H20-96GB / PG506-96GB",
     .products = (const char *const[]){"NVIDIA-GH200-480GB", "NVIDIA-H20", NULL},
     .pci_ids = (const char *const[]){"0x234210DE", "0x233D10DE", "0x20B610DE", "0x232910DE", NULL},
     .memory_gib = 96,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(HOPPER_96),
     .profiles = HOPPER_96,
     .placements_verified = false},
    {.name = "H200-141GB / H200-NVL",
     .products = (const char *const[]){"NVIDIA-H200", "NVIDIA-H200-NVL", NULL},
     .pci_ids = (const char *const[]){"0x233510DE", "0x233B10DE", NULL},
     .memory_gib = 141,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(H200),
     .profiles = H200,
     .placements_verified = true},
    {.name = "GH200-144GB-HBM3e",
     .products = (const char *const[]){"NVIDIA-GH200-144G-HBM3e", NULL},
     .pci_ids = (const char *const[]){"0x234810DE", NULL},
     .memory_gib = 144,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(GH200_144),
     .profiles = GH200_144,
     .placements_verified = false},
    {.name = "B200-180GB",
     .products = (const char *const[]){"NVIDIA-B200", NULL},
     .pci_ids = (const char *const[]){"0x290110DE", NULL},
     .memory_gib = 180,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(B200),
     .profiles = B200,
     .placements_verified = false},
    {.name = "GB200-186GB",
     .products = (const char *const[]){"NVIDIA-GB200", NULL},
     .pci_ids = (const char *const[]){"0x294110DE", NULL},
     .memory_gib = 186,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(GB200),
     .profiles = GB200,
     .placements_verified = false},
    {.name = "B300-288GB",
     .products = (const char *const[]){"NVIDIA-B300-SXM6-AC", NULL},
     .pci_ids = (const char *const[]){"0x318210DE", NULL},
     .memory_gib = 269,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(B300),
     .profiles = B300,
     .placements_verified = false},
    {.name = "GB300-288GB",
     .products = (const char *const[]){"NVIDIA-GB300", NULL},
     .pci_ids = (const char *const[]){"0x31C210DE", NULL},
     .memory_gib = 278,
     .compute_slices = 7,
     .memory_slices = 8,
     .n_profiles = COUNT(GB300),
     .profiles = GB300,
     .placements_verified = false},
    {.name = "RTX-PRO-6000-Blackwell-96GB",
     .products = (const char *const[]){"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", NULL},
     .pci_ids = (const char *const[]){"0x2BB510DE", NULL},
     .memory_gib = 96,
     .compute_slices = 4,
     .memory_slices = 12,
     .n_profiles = COUNT(RTX_PRO_6000),
     .profiles = RTX_PRO_6000,
     .placements_verified = true},
    {.name = "RTX-PRO-5000-Blackwell-48GB",
     .products = (const char *const[]){"NVIDIA-RTX-PRO-5000-Blackwell", NULL},
     .pci_ids = (const char *const[]){"0x2BB310DE", NULL},
     .memory_gib = 48,
     .compute_slices = 2,
     .memory_slices = 2,
     .n_profiles = COUNT(RTX_PRO_5000),
     .profiles = RTX_PRO_5000,
     .placements_verified = false},
    {.name = "RTX-PRO-4500-Blackwell-32GB",
     .products = (const char *const[]){"NVIDIA-RTX-PRO-4500-Blackwell", NULL},
     .pci_ids = (const char *const[]){NULL},
     .memory_gib = 32,
     .compute_slices = 2,
     .memory_slices = 2,
     .n_profiles = COUNT(RTX_PRO_4500),
     .profiles = RTX_PRO_4500,
     .placements_verified = false},
    {.name = "Thor",
     .products = (const char *const[]){"NVIDIA-Thor", NULL},
     .pci_ids = (const char *const[]){NULL},
     .memory_gib = 0,
     .compute_slices = 3,
     .memory_slices = 2,
     .n_profiles = COUNT(THOR),
     .profiles = THOR,
     .placements_verified = false},
};

/* The word in a product's name that tells the chip. "H100" is found in no other chip's name because
 * words are compared whole. */
const struct sl_mig_family sl_mig_families[SL_MIG_FAMILIES] = {
    {"A30", 1u << M_A30},
    {"A100", 1u << M_A100_40 | 1u << M_A100_80},
    {"A800", 1u << M_A100_40 | 1u << M_A100_80},
    {"H100", 1u << M_H100_80 | 1u << M_H100_94 | 1u << M_HOPPER_96},
    {"H800", 1u << M_H100_80 | 1u << M_H100_94},
    {"GH200", 1u << M_HOPPER_96 | 1u << M_GH200_144},
    {"H20", 1u << M_HOPPER_96 | 1u << M_H200}, /* with 141 GB: vGPU's list of instance profiles */
    {"PG506", 1u << M_A100_40 | 1u << M_A100_80 | 1u << M_HOPPER_96},
    {"H200", 1u << M_H200},
    {"B200", 1u << M_B200},
    {"GB200", 1u << M_GB200},
    {"B300", 1u << M_B300},
    {"GB300", 1u << M_GB300},
    {"RTX-PRO-6000-Blackwell", 1u << M_RTX_PRO_6000},
    {"RTX-PRO-5000-Blackwell", 1u << M_RTX_PRO_5000},
    {"RTX-PRO-4500-Blackwell", 1u << M_RTX_PRO_4500},
    {"Thor", 1u << M_THOR},
};
