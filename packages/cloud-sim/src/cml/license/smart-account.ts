/** Entry of one CML server in the Smart Account. It outlives the machine: that is how licenses are lost. */
export interface Seat {
  readonly product_uuid: string
  readonly hostname: string
  readonly instance_id: string
  readonly product: string
  /** Nodes beyond those that the product includes. */
  readonly extra_nodes: number
  readonly from_ms: number
  /** The server has forgotten it, and only a person can take it away. */
  readonly left_behind: boolean
}
