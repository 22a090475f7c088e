interface Browser {
  readonly clipboard?: Pick<Clipboard, 'writeText'>
}

/** Rejects when the page has no clipboard, as over plain http to another host. */
export async function copyText(text: string, { clipboard }: Browser = navigator): Promise<void> {
  if (clipboard === undefined) throw new Error('Browsers allow copying only over https.')
  await clipboard.writeText(text)
}
