SURROGATE_FMI(const char *, GetTypesPlatform)(void) { return "default"; }
SURROGATE_FMI(const char *, GetVersion)(void) { return "2.0"; }

SURROGATE_FMI(fmi2Component, Instantiate)
(fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
 const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    const char *called = name ? name : "";
    surrogate_log log = {0, 0, 0};
    surrogate_instance *m;
    if (functions) {
        log.logger = functions->logger;
        log.environment = functions->componentEnvironment;
    }
    log.name = malloc(strlen(called) + 1);
    m = malloc(sizeof *m);
    if (log.name)
        strcpy(log.name, called);
    if (m && log.name && token && strcmp(token, SURROGATE_TOKEN) == 0) {
        m->log = log;
        surrogate_restart(m);
        return m;
    }
    surrogate_report(&log, m && log.name ? SURROGATE_OTHER_TOKEN : SURROGATE_NO_MEMORY);
    free(log.name);
    free(m);
    return 0;
}

SURROGATE_FMI(void, FreeInstance)(fmi2Component c)
{
    if (c)
        free(((surrogate_instance *)c)->log.name);
    free(c);
}

SURROGATE_FMI(fmi2Status, SetupExperiment)
(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
 fmi2Boolean has_stop, fmi2Real stop)
{
    ((surrogate_instance *)c)->now.time = start;
    return fmi2OK;
}

SURROGATE_FMI(fmi2Status, EnterInitializationMode)(fmi2Component c) { return fmi2OK; }
SURROGATE_NONE_OF(GetInteger, fmi2Integer)
SURROGATE_NONE_OF(SetInteger, const fmi2Integer)

SURROGATE_FMI(fmi2Status, GetDirectionalDerivative)
(fmi2Component c, const fmi2ValueReference unknowns[], size_t unknown_count,
 const fmi2ValueReference knowns[], size_t known_count, const fmi2Real seed[], fmi2Real values[])
{
    return surrogate_answer(
        c, surrogate_derivative(c, unknowns, unknown_count, knowns, known_count, seed, values));
}

/* Model exchange: no states, no event indicators. */
SURROGATE_FMI(fmi2Status, NewDiscreteStates)(fmi2Component c, fmi2EventInfo *info)
{
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

SURROGATE_NO_STATES(GetDerivatives)

/* Co-simulation. */
SURROGATE_FMI(fmi2Status, SetRealInputDerivatives)
(fmi2Component c, const fmi2ValueReference which[], size_t count, const fmi2Integer order[],
 const fmi2Real values[])
{
    return surrogate_without(c, count);
}

SURROGATE_FMI(fmi2Status, GetRealOutputDerivatives)
(fmi2Component c, const fmi2ValueReference which[], size_t count, const fmi2Integer order[],
 fmi2Real values[])
{
    return surrogate_without(c, count);
}

SURROGATE_FMI(fmi2Status, DoStep)
(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean kept)
{
    return surrogate_answer(c, surrogate_step(c, time, step));
}

SURROGATE_FMI(fmi2Status, CancelStep)(fmi2Component c) { return surrogate_without(c, 1); }

SURROGATE_FMI(fmi2Status, GetRealStatus)
(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = ((surrogate_instance *)c)->now.time;
    return fmi2OK;
}

/* A step has ended when its call returns, so that there is nothing else to tell of it. */
#define SURROGATE_NO_STATUS(function, kind)                                                       \
    SURROGATE_FMI(fmi2Status, function)(fmi2Component c, const fmi2StatusKind what, kind *value)  \
    {                                                                                             \
        return fmi2Discard;                                                                       \
    }
SURROGATE_NO_STATUS(GetStatus, fmi2Status)
SURROGATE_NO_STATUS(GetIntegerStatus, fmi2Integer)
SURROGATE_NO_STATUS(GetBooleanStatus, fmi2Boolean)
SURROGATE_NO_STATUS(GetStringStatus, fmi2String)
