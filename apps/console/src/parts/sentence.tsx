/** Begins with a capital letter and ends with one period. */
export const sentenceText = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/[\s.]+$/, '')}.`

/** A text with its commands set apart. */
export const CodeText = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
)

/** A reason as a sentence, with its commands set apart. */
export const Sentence = ({ text }: { text: string }) => <CodeText text={sentenceText(text)} />
