/** The two buttons of a form whose draft can be saved or dropped. */
interface Props {
  readonly isBusy: boolean
  readonly isChanged: boolean
  /** True if the node would refuse the draft, so that it cannot be saved. */
  readonly isTooLong: boolean
  readonly undo: () => void
}

export function SaveOrUndo({ isBusy, isChanged, isTooLong, undo }: Props) {
  return (
    <p class="actions">
      <button type="submit" disabled={isBusy || !isChanged || isTooLong}>
        {isBusy ? 'Saving…' : 'Save'}
      </button>
      {isChanged && (
        <button type="button" class="quiet" onClick={undo}>
          Undo my changes
        </button>
      )}
    </p>
  )
}
