/* Prints docs/metrics.md from the tables of metrics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/cut/partitioner.h"
#include "daemon/live/report.h"
#include "daemon/queue/report.h"
#include "daemon/stages/tracker.h"
#include "server/metrics/metrics.h"
#include "telemetry/telemetry.h"

/* Of outcome="ok" the first label's name, then the values of all samples; of written samples the
 * labels' names. */
static void print_labels(const struct sl_metric *row, const struct sl_metric *end)
{
    const char *labels = row->labels == NULL ? "" : row->labels;
    size_t name = strcspn(labels, "=");
    if (labels[name] == '\0') {
        printf("%s", labels);
        return;
    }
    printf("%.*s:", (int)name, labels);
    do {
        size_t value = strlen(row->labels + name) - 3; /* without =, " and " */
        printf("%s `%.*s`", row->labels == labels ? "" : ",", (int)value, row->labels + name + 2);
        row++;
    } while (row < end && row->name == NULL);
}

static void print_table(const struct sl_metric_table *table)
{
    const struct sl_metric *end = table->row + table->n;
    for (const struct sl_metric *row = table->row; row < end; row++) {
        if (row->name != NULL) {
            printf("| `%s` | %s | ", row->name, sl_metric_type_name(row->type));
            print_labels(row, end);
            printf(" | %s |\n", row->help);
        }
    }
}

static void print_part(const char *title, const struct sl_metric_table *tables)
{
    printf("\n## %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", title);
    for (; tables->n > 0; tables++) {
        print_table(tables);
    }
}

int main(void)
{
    puts("<!-- Made from the tables of the code by test/docs/print_metrics; "
         "scripts/docs\n     writes it. -->\n"
         "# Metrics\n\n"
         "What `GET /metrics` shows. [operations.md](operations.md#metrics) says which are worth "
         "an alarm.");
    print_part("The server, the ledger and the cluster", sl_server_metrics);
    print_part("The API server and the watches", sl_cluster_metrics);
    print_part("The queue", sl_queue_metrics);
    print_part("Stages", sl_stage_tracker_metrics);
    print_part("Cuts of GPUs", sl_partitioner_metrics);
    print_part("Telemetry", sl_telemetry_metrics);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
