/* Tells which nodes sliced may have cut: partitioning.nodeSelector. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"

bool sl_config_selector_read(struct sl_str text, struct sl_config_selector *out)
{
    out->n = 0;
    if (text.len >= sizeof(out->text)) {
        return false;
    }
    (void)snprintf(out->text, sizeof(out->text), "%.*s", (int)text.len, text.s);
    char *next = out->text[0] == '\0' ? NULL : out->text;
    while (next != NULL) {
        char *key = next;
        char *comma = strchr(key, ',');
        char *equals = strchr(key, '=');
        next = comma == NULL ? NULL : comma + 1;
        if (comma != NULL) {
            *comma = '\0';
        }
        if (out->n == SL_CONFIG_SELECTOR_MAX || equals == NULL || equals == key ||
            (comma != NULL && equals > comma) || strchr(equals + 1, '=') != NULL) {
            return false;
        }
        *equals = '\0';
        out->label[out->n++] = (struct sl_label){.key = key, .value = equals + 1};
    }
    return true;
}

struct sl_actuator_rule sl_config_actuators(const struct sl_config *config,
                                            struct sl_config_selector *selector)
{
    bool good = sl_config_selector_read(sl_str_of(config->partitioning.node_selector), selector);
    return (struct sl_actuator_rule){
        .enabled = config->partitioning.enabled && good,
        .choice = config->partitioning.actuator,
        .selector = selector->label,
        .n_selector = selector->n,
        .mig_mode = config->partitioning.mig_mode,
    };
}
