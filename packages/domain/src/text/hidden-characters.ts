import type { z } from 'zod'

/**
 * Characters that terminals obey instead of showing: controls such as ESC, line breaks, and format characters such as U+202E,
 * which reverses the text after it. The joiners U+200C and U+200D are no part of it: Persian, many scripts of India and emoji
 * need them, and they neither move nor hide other characters.
 */
export const HIDDEN_CHARACTERS = /(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu

export const isOnOneLine = (text: string): boolean => text.search(HIDDEN_CHARACTERS) === -1
export const ON_ONE_LINE = 'no control characters, and no invisible ones'

/** For a field that people enter on one line. What is stored already may break the rule, so stored schemas don't have it. */
export const onOneLine = <T extends z.ZodType<string>>(field: T): T => field.refine(isOnOneLine, ON_ONE_LINE)
