/** Why a package could not be had or used, in words for whoever wrote the definition. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
}
