interface Browser {
  readonly clipboard?: Pick<Clipboard, 'writeText'>
}

/** Rejects with why it could not. Over plain http, other than to localhost, a page has no clipboard. */
export async function copyText(text: string, { clipboard }: Browser = navigator): Promise<void> {
  if (clipboard === undefined) throw new Error('Browsers let a page copy only over https.')
  await clipboard.writeText(text)
}
