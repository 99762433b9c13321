/* The C ABI of the Rust half of the text module (the crate beside this file).
 * Handles are immutable after creation, but for a tokenizer's cache of words and for matchers, and may be
 * used from any thread at once, matchers by one at a time; there is no global state. Every call that can
 * fail returns a code; unless it is CORISCO_TEXT_OK, *error holds a message in UTF-8, to be freed, and the
 * outputs are untouched. No panic leaves the library.
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

/* A vocabulary for grammars. Token i is bytes[offsets[i] .. offsets[i + 1]]: what it stands for, or its
 * name if is_special[i]: such a token is never text. end_ids may come where a grammar may end. */
typedef struct corisco_text_vocabulary_parts {
  const uint8_t* bytes;
  size_t num_bytes;
  const uint32_t* offsets;   /* [size + 1] */
  const uint8_t* is_special; /* [size] */
  size_t size;
  const int32_t* end_ids;
  size_t num_end_ids;
  bool strips_first_space;   /* a reply may begin with one blank that is none of its text */
} corisco_text_vocabulary_parts;
typedef struct corisco_text_grammar_vocabulary corisco_text_grammar_vocabulary;
int32_t corisco_text_grammar_vocabulary_new(const corisco_text_vocabulary_parts* parts,
                                            corisco_text_grammar_vocabulary** out, corisco_text_buffer* error);
void corisco_text_grammar_vocabulary_free(corisco_text_grammar_vocabulary* vocabulary);

enum {
  CORISCO_TEXT_JSON_SCHEMA = 0,         /* a keyword that cannot be enforced is an error that names it */
  CORISCO_TEXT_LENIENT_JSON_SCHEMA = 1, /* such keywords are passed over */
  CORISCO_TEXT_REGEX = 2,
  CORISCO_TEXT_LARK = 3,
};
typedef struct corisco_text_grammar_part {
  int32_t kind;
  const uint8_t* name;
  size_t name_size;
  const uint8_t* text;
  size_t text_size;
} corisco_text_grammar_part;
/* The first part is what the whole text must be; parts of kind Lark name others as @name. Needs nothing of
 * the vocabulary's handle later. */
typedef struct corisco_text_grammar corisco_text_grammar;
int32_t corisco_text_grammar_new(const corisco_text_grammar_vocabulary* vocabulary,
                                 const corisco_text_grammar_part* parts, size_t num_parts,
                                 corisco_text_grammar** out, corisco_text_buffer* error);
void corisco_text_grammar_free(corisco_text_grammar* grammar);

/* Where in a grammar one text is. The only handle that changes: one owner. After an error every call is one. */
typedef struct corisco_text_matcher corisco_text_matcher;
int32_t corisco_text_matcher_new(const corisco_text_grammar* grammar, corisco_text_matcher** out,
                                 corisco_text_buffer* error);
void corisco_text_matcher_free(corisco_text_matcher* matcher);
/* Borrowed until the matcher is used again. Bit i % 32 of words[i / 32]: token i may come next. */
typedef struct corisco_text_mask {
  const uint32_t* words;
  size_t size;
} corisco_text_mask;
int32_t corisco_text_matcher_mask(corisco_text_matcher* matcher, corisco_text_mask* out, corisco_text_buffer* error);
/* is_complete: nothing but an end can follow. */
int32_t corisco_text_matcher_consume(corisco_text_matcher* matcher, int32_t id, bool* is_complete,
                                     corisco_text_buffer* error);
int32_t corisco_text_matcher_may_end(corisco_text_matcher* matcher, bool* may_end, corisco_text_buffer* error);

#ifdef __cplusplus
}
#endif
#endif
