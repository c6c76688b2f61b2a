/* Prints the table of MIG models for check_mig.py: a line for each profile. */
#include <stdio.h>
#include <stdlib.h>

#include "sliced/mig.h"

int main(void)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        for (unsigned i = 0; i < model->n_profiles; i++) {
            const struct sl_mig_profile *profile = &model->profiles[i];
            printf("%s\t%s\t%u\t", model->name, profile->name, profile->max_count);
            for (const char *const *id = model->pci_ids; *id != NULL; id++) {
                printf("%s ", *id);
            }
            printf("\n");
        }
    }
    return EXIT_SUCCESS;
}
