// SPDX-License-Identifier: GPL-2.0
#include "format.h"

struct spec {
	bool is_long;
	bool zero;
	bool left;
	unsigned int width;
	char kind;
};

static const char *parse_spec(const char *text, struct spec *spec)
{
	*spec = (struct spec){ 0 };
	for (; *text == '0' || *text == '-'; text++) {
		if (*text == '0')
			spec->zero = true;
		else
			spec->left = true;
	}
	for (; *text >= '0' && *text <= '9'; text++)
		spec->width = spec->width * 10 + (unsigned int)(*text - '0');
	for (; *text == 'l'; text++)
		spec->is_long = true;
	spec->kind = *text;
	return *text ? text + 1 : text;
}

static void put_padded(struct sink *sink, const struct spec *spec,
		       const char *body, unsigned int length)
{
	unsigned int pad = spec->width > length ? spec->width - length : 0;

	for (; pad && !spec->left; pad--)
		sink->put(sink, spec->zero ? '0' : ' ');
	while (length--)
		sink->put(sink, *body++);
	for (; pad; pad--)
		sink->put(sink, ' ');
}

static void put_number(struct sink *sink, struct spec *spec, u64 value,
		       unsigned int base, bool negative)
{
	char digits[24];
	unsigned int at = sizeof(digits);

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);

	if (negative && spec->zero) {
		sink->put(sink, '-');
		if (spec->width)
			spec->width--;
	} else if (negative) {
		digits[--at] = '-';
	}
	put_padded(sink, spec, digits + at, sizeof(digits) - at);
}

static u64 next_unsigned(const struct spec *spec, va_list *args)
{
	if (spec->is_long)
		return va_arg(*args, unsigned long);
	return va_arg(*args, unsigned int);
}

static s64 next_signed(const struct spec *spec, va_list *args)
{
	if (spec->is_long)
		return va_arg(*args, long);
	return va_arg(*args, int);
}

static void put_string(struct sink *sink, const struct spec *spec, const char *body)
{
	unsigned int length = 0;

	if (!body)
		body = "(null)";
	while (body[length])
		length++;
	put_padded(sink, spec, body, length);
}

static void put_one(struct sink *sink, struct spec *spec, va_list *args)
{
	s64 value;
	char c;

	switch (spec->kind) {
	case 's':
		put_string(sink, spec, va_arg(*args, const char *));
		break;
	case 'c':
		c = (char)va_arg(*args, int);
		put_padded(sink, spec, &c, 1);
		break;
	case 'd':
		value = next_signed(spec, args);
		put_number(sink, spec, value < 0 ? -(u64)value : (u64)value, 10, value < 0);
		break;
	case 'u':
		put_number(sink, spec, next_unsigned(spec, args), 10, false);
		break;
	case 'x':
		put_number(sink, spec, next_unsigned(spec, args), 16, false);
		break;
	case '%':
		sink->put(sink, '%');
		break;
	}
}

void format(struct sink *sink, const char *text, va_list args)
{
	struct spec spec;
	va_list rest;

	va_copy(rest, args);
	while (*text) {
		if (*text != '%') {
			sink->put(sink, *text++);
			continue;
		}
		text = parse_spec(text + 1, &spec);
		put_one(sink, &spec, &rest);
	}
	va_end(rest);
}

struct string_sink {
	struct sink sink;
	char *at;
	char *end;
	int length;
};

static void string_put(struct sink *sink, char c)
{
	struct string_sink *string = (struct string_sink *)sink;

	if (string->at < string->end)
		*string->at++ = c;
	string->length++;
}

/* Returns the length of the whole text; text that does not fit is cut off. */
int format_string(char *buffer, size_t size, const char *text, ...)
{
	struct string_sink string = {
		.sink.put = string_put, .at = buffer, .end = buffer + (size ? size - 1 : 0),
	};
	va_list args;

	va_start(args, text);
	format(&string.sink, text, args);
	va_end(args);
	if (size)
		*string.at = '\0';
	return string.length;
}
