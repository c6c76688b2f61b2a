/* Trace formats: what a record becomes, and errors that name file, line, column and field. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/input/trace.h"

static struct sl_error error;
static struct sl_trace_how how = {.seed = 1};
static char path[64];

/* Writes text to a file of the test's own and returns "format:path". */
static const char *file_of(const char *format, const char *text)
{
    static char name[128];
    (void)snprintf(path, sizeof(path), "/tmp/slicesim-trace-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    (void)snprintf(name, sizeof(name), "%s:%s", format, path);
    return name;
}

static void read_jobs(const char *format, const char *text, struct sl_workload *out)
{
    sl_workload_init(out);
    int rc = sl_trace_read(file_of(format, text), &how, out, &error);
    (void)unlink(path);
    if (rc < 0) {
        fail_msg("%s", error.message);
    }
}

static void assert_job(const struct sl_workload *jobs, size_t i, const char *name, double submit_s,
                       double run_s, int32_t timeout_s, const char *resource, int64_t count)
{
    const struct sl_job *job = &jobs->job[i];
    assert_string_equal(job->name, name);
    assert_int_equal(job->submit_us, (int64_t)(submit_s * 1e6));
    assert_int_equal(job->run_us, (int64_t)(run_s * 1e6));
    assert_int_equal(job->timeout_s, timeout_s);
    assert_string_equal(jobs->ask[job->ask].resource, resource);
    assert_int_equal(jobs->ask[job->ask].count, count);
}

TEST_FIXTURE_OF(struct sl_workload, NULL, sl_workload_free)

TEST_ON(struct sl_workload *jobs, csv_takes_columns_in_any_order_with_defaults)
{
    read_jobs("csv", "duration,submit,note\n90,10.5,x\n2.25,3,\n", jobs);
    assert_string_equal(jobs->unread, "note");
    assert_int_equal(jobs->n, 2);
    assert_job(jobs, 0, "job-1", 0, 2.25, 3, "nvidia.com/gpu", 1);
    assert_job(jobs, 1, "job-0", 7.5, 90, 90, "nvidia.com/gpu", 1);
    assert_string_equal(jobs->job[0].namespace, "default");
}

TEST_ON(struct sl_workload *jobs, csv_takes_everything_a_job_can_say)
{
    read_jobs("csv",
              "name,submit,duration,timeout,priority,resource,count,namespace,cpu_milli,"
              "memory_mib,models\n"
              "train,0,60,300,-5,nvidia.com/mig-1g.6gb,2,team-a,4000,8192,A30|A100\n",
              jobs);
    assert_job(jobs, 0, "train", 0, 60, 300, "nvidia.com/mig-1g.6gb", 2);
    assert_int_equal(jobs->job[0].priority, -5);
    assert_string_equal(jobs->job[0].namespace, "team-a");
    assert_int_equal(jobs->ask[0].cpu_milli, 4000);
    assert_int_equal(jobs->ask[0].memory_mib, 8192);
    assert_string_equal(jobs->ask[0].models, "A30|A100");
}

TEST_ON(struct sl_workload *jobs, openb_tells_shares_from_whole_gpus_and_passes_over_the_rest)
{
    read_jobs("openb",
              "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
              "deletion_time,scheduled_time\n"
              "a,6000,12288,1,460,,LS,Running,100,400,110\n"
              "b,6000,12288,2,1000,V100M16|V100M32,LS,Running,150,250,\n"
              "c,6000,12288,0,0,,LS,Running,90,400,95\n",
              jobs);
    assert_int_equal(jobs->n, 2);
    assert_int_equal(jobs->passed_over, 1);
    assert_job(jobs, 0, "a", 0, 290, 290, "aliyun.com/gpu-mem", 460);
    assert_job(jobs, 1, "b", 50, 100, 100, "nvidia.com/gpu", 2);
    assert_string_equal(jobs->ask[jobs->job[1].ask].models, "V100M16|V100M32");
}

TEST_ALONE(philly_counts_milliseconds_and_splits_jobs_wider_than_a_node)
{
    struct sl_workload jobs;
    read_jobs("philly",
              "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
              "priority\n"
              "0,1,1000,5,dqn,128,2868294000,0,1\n"
              "7,20,2500,5,dqn,128,1500,0,0\n",
              &jobs);
    assert_int_equal(jobs.n, 4);
    assert_job(&jobs, 0, "job-0", 0, 2868294, 2868294, "nvidia.com/gpu", 1);
    assert_int_equal(jobs.job[0].priority, 1);
    assert_job(&jobs, 1, "job-7-0", 1.5, 1.5, 2, "nvidia.com/gpu", 8);
    assert_job(&jobs, 2, "job-7-1", 1.5, 1.5, 2, "nvidia.com/gpu", 8);
    assert_job(&jobs, 3, "job-7-2", 1.5, 1.5, 2, "nvidia.com/gpu", 4);
    sl_workload_free(&jobs);
    how.gpus_per_pod = 4;
    read_jobs("philly", "job_id,num_gpu,submit_time,duration\n7,9,2500,1500\n8,4,2500,1500\n",
              &jobs);
    how.gpus_per_pod = 0;
    assert_int_equal(jobs.n, 4);
    assert_job(&jobs, 2, "job-7-2", 0, 1.5, 2, "nvidia.com/gpu", 1);
    assert_job(&jobs, 3, "job-8", 0, 1.5, 2, "nvidia.com/gpu", 4);
    sl_workload_free(&jobs);
}

#define DATA SL_SOURCE_DIR "/test/data/traces/"

/* Files made by hand after what is published, and their jobs: "tenant/name submission run-time
 * resource*count", and where they say it CPU, memory, models and priority. */
static const struct published {
    const char *name;
    const char *trace;
    size_t passed_over;
    const char *jobs;
} published[] = {
    {"csv with a tenant", "csv:" DATA "tenants.csv", 1,
     "blue/job-1 0 3600 nvidia.com/gpu*2\n"
     "default/job-2 0 5 nvidia.com/gpu*8\n"
     "Group 7/x/job-4 1 30 nvidia.com/gpu*1\n"
     "red/train 60 60 nvidia.com/gpu*1\n"
     "blue/late 1999960 30 nvidia.com/gpu*1\n"},
    {"philly with virtual clusters", "philly:" DATA "philly.csv", 2,
     "6214e9/job-0 0 5 nvidia.com/gpu*1\n"
     "6214e9/job-5 0.9 8 nvidia.com/gpu*1\n"
     "11cb48/job-1-0 1.5 60 nvidia.com/gpu*8\n"
     "11cb48/job-1-1 1.5 60 nvidia.com/gpu*4\n"
     "default/job-4 1.8 7 nvidia.com/gpu*4\n"},
    {"vc", "vc:" DATA "vc.csv", 2,
     "ee9e8c/job-1 0 524000 nvidia.com/gpu*1\n"
     "6214e9/job-2-0 43 60.5 nvidia.com/gpu*8\n"
     "6214e9/job-2-1 43 60.5 nvidia.com/gpu*8\n"
     "6214e9/job-2-2 43 60.5 nvidia.com/gpu*8\n"
     "6214e9/job-2-3 43 60.5 nvidia.com/gpu*8\n"
     "11cb48/job-5 65 7 nvidia.com/gpu*8\n"
     "default/job-6 165 9 nvidia.com/gpu*2\n"},
    {"philly's job log", "philly-log:" DATA "philly-log.json", 4,
     "6214e9/failed_early 0 5 nvidia.com/gpu*1\n"
     "ee9e8c/application_1_1-0 120 3660 nvidia.com/gpu*8\n"
     "ee9e8c/application_1_1-1 120 3660 nvidia.com/gpu*2\n"
     "6214e9/lost_times 120 60 nvidia.com/gpu*2\n"},
    {"helios", "helios:" DATA "helios.csv", 2,
     "vcp-d-c/job-10-0 0 30 nvidia.com/gpu*8 32000m\n"
     "vcp-d-c/job-10-1 0 30 nvidia.com/gpu*8 32000m\n"
     "vcp-d-c/job-10-2 0 30 nvidia.com/gpu*4 16000m\n"
     "vc-jkd/job-7 1 600 nvidia.com/gpu*1 3000m\n"
     "vcjkd/job-8 27 249 nvidia.com/gpu*4 16000m\n"
     "vc4om/job-12 86400 9 nvidia.com/gpu*2\n"},
    {"pai with its table of jobs", "pai:" DATA "pai_task_table.csv," DATA "pai_job_table.csv", 4,
     "9f5a15a94a61/aa05-worker-0 0 10 aliyun.com/gpu-mem*250 500m 1024Mi\n"
     "9f5a15a94a61/aa05-worker-1 0 10 aliyun.com/gpu-mem*250 500m 1024Mi\n"
     "9f5a15a94a61/aa05-worker-2 0 10 aliyun.com/gpu-mem*250 500m 1024Mi\n"
     "58540f191766/aa01-tensorflow 2 38 aliyun.com/gpu-mem*500 6000m 29999Mi\n"
     "9f5a15a94a61/aa02-worker-0 18 60 nvidia.com/gpu*1 4000m 10240Mi\n"
     "9f5a15a94a61/aa02-worker-1 18 60 nvidia.com/gpu*1 4000m 10240Mi\n"
     "58540f191766/aa06-worker-0 40 9 nvidia.com/gpu*8 48000m 4096Mi\n"
     "58540f191766/aa06-worker-1 40 9 nvidia.com/gpu*8 48000m 4096Mi\n"
     "default/aa07-worker 41 8 nvidia.com/gpu*2 6000m 8192Mi\n"},
    {"spot-gpu", "spot-gpu:" DATA "spot-gpu.csv", 2,
     "13/job-253689-0 0 60 aliyun.com/gpu-mem*500 8000m A10\n"
     "13/job-253689-1 0 60 aliyun.com/gpu-mem*500 8000m A10\n"
     "13/job-239255 5 2764799 nvidia.com/gpu*1 20000m A10 p1\n"
     "57/job-437260-0 9589663 41060 nvidia.com/gpu*8 15000m A100-SXM4-80GB\n"
     "57/job-437260-1 9589663 41060 nvidia.com/gpu*8 15000m A100-SXM4-80GB\n"
     "57/job-437260-2 9589663 41060 nvidia.com/gpu*8 15000m A100-SXM4-80GB\n"
     "57/job-437263-0 9589665 100 nvidia.com/gpu*8 60000m GPU-series-1 p1\n"
     "57/job-437263-1 9589665 100 nvidia.com/gpu*8 60000m GPU-series-1 p1\n"},
};

TEST_EACH(a_published_format_is_read, published)
{
    struct sl_workload jobs;
    struct sl_buf told;
    sl_workload_init(&jobs);
    sl_buf_init(&told, 1 << 16);
    if (sl_trace_read(row->trace, &how, &jobs, &error) < 0) {
        fail_msg("%s", error.message);
    }
    for (size_t i = 0; i < jobs.n; i++) {
        const struct sl_job *job = &jobs.job[i];
        const struct sl_job_ask *ask = &jobs.ask[job->ask];
        sl_buf_printf(&told, "%s/%s %.10g %.10g %s*%lld", job->namespace, job->name,
                      (double)job->submit_us / 1e6, (double)job->run_us / 1e6, ask->resource,
                      (long long)ask->count);
        if (ask->cpu_milli > 0) {
            sl_buf_printf(&told, " %lldm", (long long)ask->cpu_milli);
        }
        if (ask->memory_mib > 0) {
            sl_buf_printf(&told, " %lldMi", (long long)ask->memory_mib);
        }
        sl_buf_printf(&told, "%s%s%s\n", ask->models != NULL ? " " : "",
                      ask->models != NULL ? ask->models : "", job->priority > 0 ? " p1" : "");
    }
    sl_buf_putc(&told, '\0');
    assert_string_equal(told.data, row->jobs);
    assert_int_equal(jobs.passed_over, row->passed_over);
    sl_buf_free(&told);
    sl_workload_free(&jobs);
}

TEST_ALONE(adaptdl_draws_run_times_by_application_unless_they_are_there)
{
    struct sl_workload jobs;
    read_jobs("adaptdl",
              "name,time,application,num_replicas,batch_size\n"
              "big,0,imagenet,4,1\nsmall,9,ncf,1,1\n",
              &jobs);
    assert_in_range(jobs.job[0].run_us / 1000000, 100 * 3600 / 4, 1000 * 3600 / 4);
    assert_in_range(jobs.job[1].run_us / 1000000, 3600 / 10, 3600);
    assert_true(sl_trace_random("adaptdl:x"));
    sl_workload_free(&jobs);
    read_jobs("adaptdl", "name,time,application,num_replicas,duration\nown,0,something,4,77\n",
              &jobs);
    assert_job(&jobs, 0, "own", 0, 77, 77, "nvidia.com/gpu", 4);
    sl_workload_free(&jobs);
    read_jobs("adaptdl", "name,time,application,num_replicas,duration\nsome,0,ncf,1,\n", &jobs);
    assert_in_range(jobs.job[0].run_us / 1000000, 3600 / 10, 3600);
    sl_workload_free(&jobs);
}

TEST_ON(struct sl_workload *jobs, equal_submissions_stay_in_the_order_of_the_file)
{
    char text[20000] = "name,submit,duration\n";
    size_t at = strlen(text);
    for (int i = 0; i < 500; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "j%03d,%d,1\n", i, 3 - i % 4);
    }
    read_jobs("csv", text, jobs);
    assert_int_equal(jobs->n, 500);
    for (size_t i = 1; i < jobs->n; i++) {
        assert_true(jobs->job[i - 1].submit_us <= jobs->job[i].submit_us);
        if (jobs->job[i - 1].submit_us == jobs->job[i].submit_us) {
            assert_true(strcmp(jobs->job[i - 1].name, jobs->job[i].name) < 0);
        }
    }
}

static void assert_refused(const char *format, const char *text, const char *place,
                           const char *message)
{
    struct sl_workload jobs;
    char expected[300];
    sl_workload_init(&jobs);
    assert_int_equal(sl_trace_read(file_of(format, text), &how, &jobs, &error), -1);
    (void)unlink(path);
    (void)snprintf(expected, sizeof(expected), "%s%s%s", path, place, message);
    if (strstr(error.message, expected) != error.message) {
        fail_msg("\"%s\" does not begin with \"%s\"", error.message, expected);
    }
    sl_workload_free(&jobs);
}

#define HELIOS                                                                                     \
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"      \
    "queue\n"
#define PAI                                                                                        \
    "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n"
#define SPOT                                                                                       \
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"     \
    "job_type\n"

TEST_ALONE(errors_name_file_line_column_and_field)
{
    assert_refused("csv", "submit,duration\n0,5\n1,soon\n", ":3:3: ",
                   "duration: expected seconds, or a duration such as 1h30m, found \"soon\"");
    assert_refused("csv", "submit,duration,resource\n0,5,cpu\n",
                   ":2:5: ", "resource: expected a resource that sliced schedules");
    assert_refused("csv", "submit,length\n0,5\n", ":1:1: ", "no column \"duration\"");
    assert_refused("csv", "submit,duration,timeout\n0,5,1y\n", ":2:5: ",
                   "timeout: expected seconds, or a duration such as 1h30m, found \"1y\"");
    assert_refused("csv", "submit,duration,count\n0,5,-1\n",
                   ":2:5: ", "count: expected an integer in 0..2147483647, found \"-1\"");
    assert_refused("csv", "submit,duration\n", ": ", "has no job");
    assert_refused("csv", "", ": ", "is empty");
    assert_refused("openb",
                   "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                   "a,1,1,1,1001,0,5\n",
                   ":2:9: ", "gpu_milli: expected an integer in 0..1000");
    assert_refused("openb", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1000\n",
                   ":1:1: ", "no column \"creation_time\"");
    assert_refused("adaptdl", "name,time,application,num_replicas\na,0,llama,1\n",
                   ":2:5: ", "application: expected imagenet, yolov3");
    assert_refused("csv", "submit,namespace,duration,tenant\n0,a,5,a\n",
                   ":1:27: ", "tenant: expected \"namespace\" or \"tenant\", not both");
    assert_refused("philly", "job_id,num_gpu,submit_time,duration,vc\n7,x,1,1,a\n",
                   ":2:3: ", "num_gpu: expected an integer in 0..100000, found \"x\"");
    assert_refused("vc", "submit_s,duration_s,gpus\n1,2,3\n",
                   ":1:1: ", "no column \"tenant\" in the header, which has submit_s, duration_s");
    assert_refused("helios", HELIOS "7,u,vc1,1,1,1,FAILED,2020-06-31 18:41:01,,,5,\n",
                   ":2:22: ", "submit_time: expected seconds, or a time such as");
    assert_refused("pai", "a,worker,1.0,Failed,1.0,2.0,600.0,1.0,50.0\n",
                   ":1:1: ", "9 fields, the header has 10 columns");
    assert_refused("pai", "a,worker,1.0,Failed,1.0,2.0,600.0,1.0,100001,\n",
                   ":1:39: ", "plan_gpu: expected a smaller number, found \"100001\"");
    assert_refused("pai", PAI "a,worker,1.5,Failed,1.0,2.0,600.0,1.0,50,\n",
                   ":2:10: ", "inst_num: expected an integer in 0..2147483647, found \"1.5\"");
    assert_refused("spot-gpu", SPOT "1,2,A10,20,many,1,0,5,HP\n",
                   ":2:12: ", "gpu_request: expected a number in 0..");
    assert_refused("spot-gpu", SPOT "1,2,A10,20,1,20001,0,5,HP\n",
                   ":2:1: ", "more than 20000 pods");
    assert_refused(
        "philly-log", "[{\"vc\": \"a\",\n \"attempts\": [{\"end_time\": \"soon\"}]}]",
        ":2:34: ", "[0].attempts[0]: expected times such as 2017-10-07 01:12:09, found \"soon\"");
    assert_refused("philly-log", "[{\"vc\": \"a\"}]", ":1:12: ", "[0].submitted_time: is missing");
    assert_refused("philly-log", "[{\"vc\": 5}]", ":1:9: ", "[0].vc: expected a string");
    assert_refused("philly-log", "[{\"vc\": \"a\"", ":1:12: ", "");
    assert_refused("philly-log", "[]", ": ", "has no job");
}

TEST_ALONE(the_table_of_jobs_of_pai_may_lack_or_be_wrong)
{
    struct sl_workload jobs;
    char trace[200];
    read_jobs("pai", PAI "a,worker,,Failed,1.0,2.0,,,50.0,\n", &jobs);
    assert_job(&jobs, 0, "a-worker", 0, 1, 1, "aliyun.com/gpu-mem", 500);
    assert_string_equal(jobs.job[0].namespace, "default");
    sl_workload_free(&jobs);
    sl_workload_init(&jobs);
    (void)snprintf(trace, sizeof(trace), "pai:/nonexistent,%s",
                   strchr(file_of("pai", "a,b,c,Failed,now,2.0\n"), ':') + 1);
    assert_int_equal(sl_trace_read(trace, &how, &jobs, &error), -1);
    (void)unlink(path);
    assert_memory_equal(error.message, path, strlen(path));
    assert_non_null(strstr(error.message, ":1:14: start_time: expected a number"));
    sl_workload_free(&jobs);
}

TEST_ALONE(csv_takes_dates_and_passes_over_what_asks_for_nothing)
{
    struct sl_workload jobs;
    read_jobs("csv",
              "submit,duration,count\n2020-04-01 00:00:02,60,1.0\n2020-03-31T23:59:58.5Z,5,0\n"
              "2020-04-01T02:00:00+02:00,30,8\n",
              &jobs);
    assert_int_equal(jobs.n, 2);
    assert_int_equal(jobs.passed_over, 1);
    assert_job(&jobs, 0, "job-1", 0, 30, 30, "nvidia.com/gpu", 8);
    assert_job(&jobs, 1, "job-0", 2, 60, 60, "nvidia.com/gpu", 1);
    sl_workload_free(&jobs);
    assert_refused("csv", "submit,duration\n2020-04-31 00:00:02,5\n",
                   ":2:1: ", "submit: expected seconds, or a time such as 2026-11-21 12:38:09");
}

TEST_ALONE(csv_says_which_jobs_one_waits_for)
{
    struct sl_workload jobs;
    read_jobs("csv",
              "name,submit,duration,after,namespace\nend,0,1,Mid 1 | mid_2,a\nMid 1,2,1,start,a\n"
              "mid_2,3,1,start,a\nstart,1,1,,a\nstart,5,1,,b\n",
              &jobs);
    assert_true(jobs.staged);
    assert_int_equal(jobs.job[0].after->n, 2);
    assert_string_equal(jobs.job[jobs.job[0].after->job[0]].name, "Mid 1");
    assert_string_equal(jobs.job[jobs.job[0].after->job[1]].name, "mid_2");
    assert_int_equal(jobs.job[3].after->job[0], 1);
    assert_null(jobs.job[1].after);
    assert_true(jobs.job[1].followed && jobs.job[2].followed);
    assert_false(jobs.job[0].followed || jobs.job[4].followed);
    sl_workload_free(&jobs);
    assert_refused("csv", "name,submit,duration,after\na,0,1,\nb,0,1,a|c\n",
                   ":3:7: ", "after: \"c\": no job of the namespace has this name");
    assert_refused("csv", "name,submit,duration,after\na,0,1,\na,0,1,\nb,0,1,a\n",
                   ":4:7: ", "after: \"a\": several jobs of the namespace have this name");
    assert_refused("csv", "name,submit,duration,after\na,0,1,a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a\n",
                   ":2:7: ", "after: \"a\": more than 16 names");
}

TEST_ON(struct sl_workload *jobs, a_format_that_is_not_known_lists_those_there_are)
{
    sl_workload_init(jobs);
    assert_int_equal(sl_trace_read("slurm:x.csv", &how, jobs, &error), -1);
    assert_non_null(strstr(error.message, "a format of csv, openb, philly, philly-log, vc"));
    assert_int_equal(sl_trace_read("jobs->csv", &how, jobs, &error), -1);
    assert_non_null(strstr(error.message, "expected FORMAT:FILE"));
}
