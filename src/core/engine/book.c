/* The engine's memory of nodes whose GPUs are cut, by name. */
#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/time.h"

static const int64_t forget_us = SL_DAY_US; /* after a node's last failure */

struct sl_cut_book *sl_book_find(const struct sl_engine *engine, const char *node)
{
    return sl_map_get(&engine->books, node, strlen(node));
}

struct sl_cut_book *sl_book_of(struct sl_engine *engine, const char *node)
{
    struct sl_cut_book *book = sl_book_find(engine, node);
    if (book == NULL) {
        book = SL_MAP_ADD(&engine->books, struct sl_cut_book, name, sl_str_of(node));
        if (book != NULL) {
            book->why = "";
        }
    }
    return book;
}

void sl_book_forget_pods(struct sl_cut_book *book)
{
    size_t at = 0;
    for (void *uid = sl_map_next(&book->uids, &at); uid != NULL;
         uid = sl_map_next(&book->uids, &at)) {
        free(uid);
    }
    sl_map_free(&book->uids);
}

void sl_book_drop(struct sl_engine *engine, struct sl_cut_book *book)
{
    if (book->run != NULL) {
        engine->under_way -= book->run->resumed ? 0 : 1;
        free(book->run);
        book->run = NULL;
        book->write = 0; /* whatever becomes of it */
    }
}

static void book_free(struct sl_engine *engine, struct sl_cut_book *book)
{
    (void)sl_map_remove(&engine->books, book->name, strlen(book->name));
    sl_book_drop(engine, book);
    sl_book_forget_pods(book);
    free(book);
}

/* Times and failures of a node's cuts are worth keeping while the node is there. */
static bool is_worth_keeping(const struct sl_engine *engine, const struct sl_cut_book *book,
                             int64_t now_us)
{
    return book->run != NULL || book->planned || book->round == engine->round ||
           now_us - book->record.out_until_us < forget_us;
}

void sl_books_sweep(struct sl_engine *engine, int64_t now_us)
{
    size_t at = 0;
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        if (!is_worth_keeping(engine, book, now_us)) {
            book_free(engine, book);
        }
    }
}

void sl_books_free(struct sl_engine *engine)
{
    size_t at = 0;
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        book_free(engine, book);
    }
    sl_map_free(&engine->books);
}

void sl_books_rebase(struct sl_engine *engine, int64_t by_us)
{
    size_t at = 0;
    for (struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        sl_times_move(book, by_us);
        sl_times_move(&book->record, by_us);
        if (book->run != NULL) {
            sl_times_move(book->run, by_us);
        }
    }
}
