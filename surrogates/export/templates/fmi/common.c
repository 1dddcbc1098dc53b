static fmiXStatus surrogate_report(const surrogate_log *log, int what)
{
    const fmiXStatus status = what == SURROGATE_NOT_FINITE ? fmiXDiscard : fmiXError;
    const char *category = status == fmiXDiscard ? "logStatusDiscard" : "logStatusError";
    if (what == SURROGATE_DONE)
        return fmiXOK;
    if (log->logger)
        SURROGATE_TELL(log, status, category, surrogate_messages[what]);
    return status;
}

static fmiXStatus surrogate_answer(const surrogate_instance *m, int what)
{
    return surrogate_report(&m->log, what);
}

/* Answer to a call that has nothing to do but with `count` things that this model has none of. */
static fmiXStatus surrogate_without(fmiXInstance m, size_t count)
{
    return surrogate_answer(m, count ? SURROGATE_NOT_OFFERED : SURROGATE_DONE);
}

/* Every variable is a scalar, so that there are as many values as references. */
SURROGATE_FMI(fmiXStatus, GetFloat64)
(fmiXInstance m, const fmiXValueReference which[], size_t count, fmiXFloat64 values[] SURROGATE_SIZE)
{
    return surrogate_answer(
        m, SURROGATE_FITS ? surrogate_get(m, which, count, values) : SURROGATE_NO_VARIABLE);
}

SURROGATE_FMI(fmiXStatus, SetFloat64)
(fmiXInstance m, const fmiXValueReference which[], size_t count,
 const fmiXFloat64 values[] SURROGATE_SIZE)
{
    return surrogate_answer(
        m, SURROGATE_FITS ? surrogate_set(m, which, count, values) : SURROGATE_NO_VARIABLE);
}

SURROGATE_FMI(fmiXStatus, GetBoolean)
(fmiXInstance m, const fmiXValueReference which[], size_t count, fmiXBoolean values[] SURROGATE_SIZE)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const int flag = SURROGATE_FITS ? surrogate_flag(m, which[i]) : -1;
        if (flag < 0)
            return surrogate_answer(m, SURROGATE_NO_VARIABLE);
        values[i] = flag;
    }
    return fmiXOK;
}

#define SURROGATE_NONE_OF(function, kind)                                                         \
    SURROGATE_FMI(fmiXStatus, function)                                                           \
    (fmiXInstance m, const fmiXValueReference which[], size_t count, kind values[] SURROGATE_SIZE) \
    {                                                                                             \
        return surrogate_answer(m, count ? SURROGATE_NO_VARIABLE : SURROGATE_DONE);               \
    }
SURROGATE_NONE_OF(GetString, fmiXString)
SURROGATE_NONE_OF(SetBoolean, const fmiXBoolean)
SURROGATE_NONE_OF(SetString, const fmiXString)

SURROGATE_FMI(fmiXStatus, SetDebugLogging)
(fmiXInstance m, fmiXBoolean on, size_t count, const fmiXString categories[]) { return fmiXOK; }

SURROGATE_FMI(fmiXStatus, ExitInitializationMode)(fmiXInstance m) { return fmiXOK; }
SURROGATE_FMI(fmiXStatus, Terminate)(fmiXInstance m) { return fmiXOK; }

SURROGATE_FMI(fmiXStatus, Reset)(fmiXInstance m)
{
    surrogate_restart(m);
    return fmiXOK;
}

SURROGATE_FMI(fmiXStatus, GetFMUState)(fmiXInstance m, fmiXFMUState *state)
{
    return surrogate_answer(m, surrogate_remember(&((surrogate_instance *)m)->now, state));
}

SURROGATE_FMI(fmiXStatus, SetFMUState)(fmiXInstance m, fmiXFMUState state)
{
    return surrogate_answer(m, surrogate_recall(m, state));
}

SURROGATE_FMI(fmiXStatus, FreeFMUState)(fmiXInstance m, fmiXFMUState *state)
{
    if (state) {
        free(*state);
        *state = 0;
    }
    return fmiXOK;
}

/* Bytes of a state would say no more than the values of the inputs. */
SURROGATE_FMI(fmiXStatus, SerializedFMUStateSize)
(fmiXInstance m, fmiXFMUState state, size_t *size) { return surrogate_without(m, 1); }

SURROGATE_FMI(fmiXStatus, SerializeFMUState)
(fmiXInstance m, fmiXFMUState state, fmiXByte bytes[], size_t size) { return surrogate_without(m, 1); }

SURROGATE_FMI(fmiXStatus, DeserializeFMUState)
(fmiXInstance m, const fmiXByte bytes[], size_t size, fmiXFMUState *state)
{
    return surrogate_without(m, 1);
}

/* Model exchange: no states, no event indicators. */
SURROGATE_FMI(fmiXStatus, EnterEventMode)(fmiXInstance m)
{
    surrogate_enter(m, 0);
    return fmiXOK;
}

SURROGATE_FMI(fmiXStatus, EnterContinuousTimeMode)(fmiXInstance m)
{
    surrogate_enter(m, 1);
    return fmiXOK;
}

SURROGATE_FMI(fmiXStatus, CompletedIntegratorStep)
(fmiXInstance m, fmiXBoolean kept, fmiXBoolean *event, fmiXBoolean *terminate)
{
    *event = surrogate_flags_changed(m);
    *terminate = 0;
    return fmiXOK;
}

SURROGATE_FMI(fmiXStatus, SetTime)(fmiXInstance m, fmiXFloat64 time)
{
    return surrogate_answer(m, surrogate_step(m, time, 0.0));
}

SURROGATE_FMI(fmiXStatus, SetContinuousStates)
(fmiXInstance m, const fmiXFloat64 values[], size_t count) { return surrogate_without(m, count); }

#define SURROGATE_NO_STATES(function)                                                             \
    SURROGATE_FMI(fmiXStatus, function)(fmiXInstance m, fmiXFloat64 values[], size_t count)       \
    {                                                                                             \
        return surrogate_without(m, count);                                                       \
    }
SURROGATE_NO_STATES(GetEventIndicators)
SURROGATE_NO_STATES(GetContinuousStates)
SURROGATE_NO_STATES(GetNominalsOfContinuousStates)
