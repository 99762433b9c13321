/* The C ABI of the Rust half of the text module (the crate beside this file).
 * Handles are immutable after creation, but for a tokenizer's cache of words, and may be used from any
 * thread at once; there is no global state. Every call that can fail returns a code; unless it is CORISCO_TEXT_OK, *error holds a
 * message in UTF-8, to be freed, and the outputs are untouched. No panic leaves the library.
 * Text goes in as pointer and size, in UTF-8, without a final zero; size 0 means none. */
#ifndef CORISCO_TEXT_H
#define CORISCO_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  CORISCO_TEXT_OK = 0,
  CORISCO_TEXT_INVALID = 1,  /* the input is wrong; the same again is wrong again */
  CORISCO_TEXT_INTERNAL = 2, /* a panic: a bug of the library or of a crate under it */
};

typedef struct corisco_text_buffer {
  uint8_t* data;
  size_t size;
} corisco_text_buffer;
void corisco_text_buffer_free(corisco_text_buffer buffer);

typedef struct corisco_text_ids {
  int32_t* data;
  size_t size;
} corisco_text_ids;
void corisco_text_ids_free(corisco_text_ids ids);

/* A tokenizer from the content of tokenizer.json. */
typedef struct corisco_text_tokenizer corisco_text_tokenizer;
int32_t corisco_text_tokenizer_new(const uint8_t* json, size_t size, corisco_text_tokenizer** out,
                                   corisco_text_buffer* error);
void corisco_text_tokenizer_free(corisco_text_tokenizer* tokenizer);

/* Borrowed from the tokenizer. Token i is bytes[offsets[i] .. offsets[i + 1]): what it stands for,
 * or its name if is_special[i]. size: one above the largest id. */
typedef struct corisco_text_vocabulary {
  const uint8_t* bytes;
  const uint32_t* offsets;   /* [size + 1] */
  const uint8_t* is_special; /* [size] */
  size_t size;
  bool strips_first_space;   /* decoding a whole text takes away one blank at its start */
} corisco_text_vocabulary;
corisco_text_vocabulary corisco_text_tokenizer_vocabulary(const corisco_text_tokenizer* tokenizer);

/* with_special: names of special tokens in the text become these tokens. Adds none of its own. */
int32_t corisco_text_tokenizer_encode(const corisco_text_tokenizer* tokenizer, const uint8_t* text,
                                      size_t size, bool with_special, corisco_text_ids* out,
                                      corisco_text_buffer* error);
/* Bytes [begin, end) of a text. */
typedef struct corisco_text_range {
  size_t begin;
  size_t end;
} corisco_text_range;
/* With special tokens, but for the parts of the text that are meant literally: in order, none overlaps
 * another. */
int32_t corisco_text_tokenizer_encode_literals(const corisco_text_tokenizer* tokenizer,
                                               const uint8_t* text, size_t size,
                                               const corisco_text_range* literals, size_t num_literals,
                                               corisco_text_ids* out, corisco_text_buffer* error);
/* What the tokenizer puts before a text where it is asked to add its own tokens, such as <s>. To be freed. */
corisco_text_ids corisco_text_tokenizer_own_prefix(const corisco_text_tokenizer* tokenizer);
/* CORISCO_TEXT_INVALID, without a message, if there is no such token. */
int32_t corisco_text_tokenizer_id_of(const corisco_text_tokenizer* tokenizer, const uint8_t* token,
                                     size_t size, int32_t* out);

/* A chat template from its source. special_tokens_json: an object such as {"bos_token": "<s>"}. */
typedef struct corisco_text_template corisco_text_template;
int32_t corisco_text_template_new(const uint8_t* source, size_t source_size,
                                  const uint8_t* special_tokens_json, size_t special_tokens_size,
                                  corisco_text_template** out, corisco_text_buffer* error);
void corisco_text_template_free(corisco_text_template* chat_template);

typedef struct corisco_text_chat_input {
  const uint8_t* messages_json; /* an array of OpenAI messages */
  size_t messages_size;
  const uint8_t* tools_json;    /* an array */
  size_t tools_size;
  const uint8_t* kwargs_json;   /* an object of further template variables */
  size_t kwargs_size;
  bool add_generation_prompt;
  double now_unix_seconds;      /* what strftime_now sees, as local time */
} corisco_text_chat_input;
int32_t corisco_text_template_render(const corisco_text_template* chat_template,
                                     const corisco_text_chat_input* input, corisco_text_buffer* out,
                                     corisco_text_buffer* error);

#ifdef __cplusplus
}
#endif
#endif
